"""Studies on splits that users have: used as they are, resampled, recorded, and run again."""

import numpy as np
import polars as pl
import pytest

from ranksieve import Columns, DataError, RankingData, make_ranking, write_letor, write_parquet
from ranksieve.metrics import evaluate
from ranksieve.rankers.registry import make_ranker
from ranksieve.report.sheets.study_quality import comparison_sheet
from ranksieve.report.sheets.study_selections import stability_sheet
from ranksieve.selectors.registry import make_selector
from ranksieve.splits import query_parts, resample_queries
from ranksieve.study import Protocol, SplitByColumn, SplitByTime, Study, load_study, stability_of
from ranksieve.study.plan_file import read_settings

SMALL = dict(n_informative=3, n_redundant=2, n_noise=2, docs_per_query=(3, 8))
QUICK = dict(
    selectors=["top"],
    rankers=["rankrls"],
    ks=[2],
    seeds=2,
    parameters={"rankrls": {"lam": 1.0}},
)


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, **SMALL, random_state=4)[0]


@pytest.fixture(scope="module")
def parts(data):
    return tuple(data.take_queries(part) for part in np.split(np.arange(40), [20, 28]))


def frame_of(data, **more):
    features = {f"f{n}": data.X[:, n] for n in range(data.n_features)}
    return pl.DataFrame({"qid": data.qid, "label": data.y} | more | features)


def test_a_split_is_used_as_it_is(parts):
    study = Study(parts, **QUICK)
    assert study.protocol_in_words == "one split, as given"
    assert study.title == "20 queries"
    fold = study.trials[0].open()
    assert fold.parts == list(parts)
    assert study.run().n_queries == 12


def test_without_validation_data_one_in_five_training_queries_tunes(parts):
    train, _, test = parts
    study = Study((train, test), **QUICK)
    assert study.protocol_in_words == (
        "one split, as given; one in five training queries tunes (seed 0)"
    )
    fold = study.trials[0].open()
    chosen = query_parts(20, 5, random_state=0)[0]
    assert fold.vali.query_ids.tolist() == train.query_ids[chosen].tolist()
    assert fold.train.n_queries == 16
    assert not set(fold.train.query_ids) & set(fold.vali.query_ids)


def test_a_query_on_both_sides_is_refused(parts):
    train, vali, test = parts
    leaking = RankingData(
        test.X, test.y, np.where(test.qid == test.qid[-1], train.qid[0], test.qid)
    )
    query = train.qid[0]
    with pytest.raises(
        DataError, match=rf"Split: query {query} is among those to train on and thos"
    ):
        Study((train, leaking), **QUICK).run()
    with pytest.raises(
        DataError, match=r"those to tune by and those to test on, so the split leaks"
    ):
        Study((train, vali, vali), **QUICK).run()
    as_text = RankingData(leaking.X, leaking.y, [str(q) for q in leaking.qid])
    with pytest.raises(DataError, match=rf"query '{query}' is among those to train on and"):
        Study((train, as_text), **QUICK).run()


def test_an_empty_part_is_refused(parts):
    train, vali, test = parts
    for role, split in (
        ("train on", (train.take_queries([]), vali, test)),
        ("tune by", (train, vali.take_queries([]), test)),
        ("test on", (train, vali, test.take_queries([]))),
    ):
        with pytest.raises(DataError, match=f"Split: there is no query to {role}"):
            Study(split, **QUICK).run()


def test_other_protocols_do_not_divide_what_is_divided(parts, data):
    with pytest.raises(DataError, match="the data is already divided .one split, as given.: l"):
        Study(parts, protocol="kfold:5", **QUICK)
    with pytest.raises(DataError, match="the protocol split needs data that is divided"):
        Study(data, protocol="split", **QUICK)
    with pytest.raises(DataError, match="the protocol letor needs the directory of a collection"):
        Study(parts, protocol="letor", **QUICK)


# Resamples.


def test_resamples_are_what_a_plain_loop_finds(parts):
    train, _, test = parts
    result = Study(parts, resamples=4, **QUICK).run()
    assert [fold.name for fold in result.folds] == [f"Resample{n}" for n in (1, 2, 3, 4)]
    run = result.run("top", "rankrls").by_k[2]
    expected = []
    for queries, features in zip(resample_queries(20, 4), run.selections, strict=True):
        part = train.take_queries(queries)
        chosen = make_selector("top", 2).fit(part).selected_
        assert tuple(chosen) == features
        columns = np.sort(chosen)
        ranker = make_ranker("rankrls", lam=1.0).fit(part.take_features(columns))
        scores = ranker.predict(test.take_features(columns))
        expected.append(evaluate(test.y, scores, test.qid, ["map"], "standard").per_query["MAP"])
    np.testing.assert_allclose(run.values("MAP")[0], np.mean(expected, axis=1))
    np.testing.assert_allclose(run.per_query("MAP"), np.mean(expected, axis=0))  # each query once
    assert result.n_queries == len(run.per_query("MAP")) == 12
    np.testing.assert_allclose(run.spread("MAP"), np.std(np.mean(expected, axis=1), ddof=1))
    assert stability_of(run, train.n_features) is not None


def test_the_report_says_that_folds_are_resamples(parts):
    result = Study(parts[::2], resamples=3, **QUICK).run()
    sheet = comparison_sheet(result, "rankrls")
    assert (
        "one in five training queries tunes (seed 0); 3 resamples select and train" in sheet.caption
    )
    assert "four in five of the other training queries, drawn without" in sheet.caption
    assert any("standard deviation over all 3 resamples" in note for note in sheet.notes)
    notes = stability_sheet(result, "rankrls").notes
    assert any(note.startswith("Nogueira: 1 if all resamples select the same") for note in notes)


def test_the_stability_of_one_split_is_not_known(parts):
    result = Study(parts, **QUICK).run()
    sheet = stability_sheet(result, "rankrls")
    assert sheet.groups[0][0][2].value is None
    assert (
        "not defined for one split; to estimate them, select and train on several" in sheet.notes[0]
    )


def test_files_are_read_once_for_all_resamples(parts, tmp_path, monkeypatch):
    from ranksieve.io.tables import Tables

    paths = [tmp_path / f"{name}.parquet" for name in ("train", "vali", "test")]
    for part, path in zip(parts, paths, strict=True):
        write_parquet(part, path)
    reads, original = [], Tables.read

    def counting(self, *arguments, **options):
        reads.append(1)
        return original(self, *arguments, **options)

    monkeypatch.setattr(Tables, "read", counting)
    for source in (tuple(paths), tmp_path):
        reads.clear()
        assert len(Study(source, resamples=3, **QUICK).run().folds) == 3
        assert len(reads) == 3  # training, validation and test data


def test_resamples_need_one_split(data, tmp_path):
    with pytest.raises(
        ValueError, match="resamples are drawn from the training queries of one split; kfold"
    ):
        Study(data, resamples=3, **QUICK)
    for number, part in enumerate(np.array_split(np.arange(40), 5), start=1):
        write_letor(data.take_queries(part), tmp_path / f"S{number}.txt")
    with pytest.raises(
        DataError, match="of one split, but this data has 5 folds: leave out the num"
    ):
        Study(tmp_path, resamples=3, **QUICK)
    with pytest.raises(ValueError, match="resamples must be 0, or 2 and more, got 1"):
        Protocol("split", resamples=1)


# Columns, and plans that can be run again.


def test_frames_with_columns(data):
    part = pl.Series("part", np.where(data.qid % 4 == 0, "test", "train"))
    frame = frame_of(data, shop_id=data.qid * 7, part=part)
    study = Study(frame, columns=Columns(ignore="shop_id"), split=SplitByColumn("part"), **QUICK)
    assert study.protocol_in_words.startswith(
        "one split, by the values train and test of column 'pa"
    )
    result = study.run()
    assert result.n_queries == len([q for q in data.query_ids if q % 4 == 0])
    assert result.feature_names == [f"f{n}" for n in range(data.n_features)]
    folds = Study(
        frame, columns=Columns(features="f?"), split=SplitByColumn("shop_id"), **QUICK
    ).trials
    assert len(folds) == 40


@pytest.mark.parametrize(
    ("split", "resamples"),
    [
        (SplitByTime("day", "2026-01-30"), 2),
        (SplitByTime("day", 20), 0),
        (SplitByColumn("fold"), 0),
    ],
)
def test_a_plan_has_all_that_is_needed_to_run_it_again(data, tmp_path, split, resamples):
    day = np.datetime64("2026-01-01") + data.qid
    if split == SplitByTime("day", 20):
        day = data.qid
    frame_of(data, day=day, fold=data.qid % 4, weight=1.0 + data.qid % 2).write_parquet(
        tmp_path / "all.parquet"
    )
    study = Study(
        tmp_path / "all.parquet",
        split=split,
        resamples=resamples,
        columns=Columns(features=["f?"]),
        **QUICK,
        out=tmp_path / "study",
    )
    first = study.run()
    settings = read_settings(tmp_path / "study" / "study.toml")
    again = Study(settings.pop("data"), **settings, out=tmp_path / "again").run()
    values = [result.run("top", "rankrls").chosen.values("MAP") for result in (first, again)]
    np.testing.assert_array_equal(*values)
    assert again.protocol == first.protocol
    assert load_study(tmp_path / "again").protocol == first.protocol


def test_a_plan_of_parts(parts, tmp_path):
    for part, name in zip(parts, ("a", "b", "c"), strict=True):
        write_letor(part, tmp_path / f"{name}.txt")
    source = tuple(tmp_path / f"{name}.txt" for name in "abc")
    Study(source, **QUICK, out=tmp_path / "s").run()
    settings = read_settings(tmp_path / "s" / "study.toml")
    assert [settings[name] for name in ("data", "vali", "test")] == [[str(p)] for p in source]
    assert settings["protocol"] == "split"
    assert "resamples" not in settings
    assert "columns" not in settings


def test_pooled_files_are_recorded(parts, tmp_path):
    write_letor(parts[0], tmp_path / "a.txt")
    write_letor(parts[1], tmp_path / "b.txt")
    with pytest.raises(DataError, match="2 files are given as data"):
        Study([tmp_path / "a.txt", tmp_path / "b.txt"], **QUICK)
    Study(tmp_path / "[ab].txt", pool=True, **QUICK, out=tmp_path / "s").run()
    settings = read_settings(tmp_path / "s" / "study.toml")
    assert settings["pool"] is True
    assert settings["data"] == [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]


def test_other_weights_are_other_data(data, tmp_path):
    weights = 1.0 + np.arange(data.n_queries) % 3
    plan = dict(**QUICK, out=tmp_path / "s")
    Study(data.with_weights(weights), **plan).run()
    Study(data.with_weights(weights.copy()), **plan).run()
    for other in (data, data.with_weights(weights[::-1].copy())):
        with pytest.raises(DataError, match="of these results has other data"):
            Study(other, **plan).run()
