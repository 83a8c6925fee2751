"""Studies against a plain version of them, and what they must never do."""

import json
import re
import signal
import time
from contextlib import redirect_stdout
from io import StringIO
from itertools import product

import numpy as np
import pytest
from scipy import stats as scipy_stats

from ranksieve import RankingData, make_ranking, write_letor
from ranksieve.cli import main
from ranksieve.data import DataError
from ranksieve.datasets import fold_files
from ranksieve.io.record_log import checksum
from ranksieve.metrics import evaluate
from ranksieve.rankers.registry import RANKERS, make_ranker
from ranksieve.report import write_report
from ranksieve.selectors.registry import SELECTORS, make_selector
from ranksieve.splits import query_kfold
from ranksieve.study import Plan, Protocol, Study, compare_with, load_study
from ranksieve.study.procedure import Procedure
from ranksieve.threads import limit_blas_threads, limit_threads
from tests.every_method import QUICK_TREES

SMALL = dict(n_informative=3, n_redundant=3, n_noise=4, docs_per_query=(3, 12))
QUICK = dict(rankers=["rankrls"], grids={"rankrls": {"lam": [0.1, 10.0]}}, seeds=2)


@pytest.fixture(scope="module")
def data():
    return make_ranking(40, **SMALL, random_state=3)[0]


def without_times(result):
    """All that a result says but for seconds, as plain values."""
    return {
        key: [
            [[known(outcome) for outcome in seed] for seed in tested.outcomes]
            for tested in (run.chosen, *run.by_k.values())
        ]
        for key, run in result.runs.items()
    }


def known(outcome):
    record = {name: value for name, value in vars(outcome).items() if "seconds" not in name}
    return record | {"per_query": {n: v.tolist() for n, v in outcome.per_query.items()}}


def plain_study(data, selectors, rankers, ks, grids, parameters, tune, measures, convention, seeds):
    """Everything from the beginning, for each fold, seed, parameter and number of features."""
    chosen, selected = {}, {}
    for selector, ranker in product(selectors, rankers):
        seeded = SELECTORS[selector].is_seeded or RANKERS[ranker].is_seeded
        for seed in range(seeds) if seeded else [None]:
            for number, split in enumerate(query_kfold(data.n_queries, 5, random_state=0)):
                train, vali, test = split.apply(data)
                best = None
                for k in ks if selector != "all" else [data.n_features]:
                    for point in points(grids.get(selector, SELECTORS[selector].grid)):
                        own = {"random_state": seed} if SELECTORS[selector].is_seeded else {}
                        call = selector, number, k, *point.items(), *own.items()
                        if selector == "all":
                            selected[call] = list(range(data.n_features))
                        elif call not in selected:  # else the same with another ranker
                            fitted = make_selector(selector, k, **point, **own)
                            beside = SELECTORS[selector].uses_held_out_data
                            fitted.fit(train, **({"eval_set": vali} if beside else {}))
                            selected[call] = sorted(fitted.selected_.tolist())
                        kept = selected[call]
                        for setting in points(grids.get(ranker, RANKERS[ranker].grid)):
                            model = make_ranker(ranker, **parameters.get(ranker, {}), **setting)
                            if RANKERS[ranker].is_seeded:
                                model.set_params(random_state=seed)
                            model.fit(train.take_features(kept), eval_set=vali.take_features(kept))
                            values = measured(model, vali, kept, tune, convention)
                            value = np.average(values, weights=vali.query_weights)
                            if best is None or value > best[0]:
                                best = value, model, kept
                _, model, kept = best
                for measure in measures:
                    found = measured(model, test, kept, measure, convention)
                    chosen[selector, ranker, seed, number, measure] = (kept, found)
    return chosen


def points(grid):
    names = sorted(grid)
    return [dict(zip(names, values, strict=True)) for values in product(*(grid[n] for n in names))]


def measured(model, data, kept, measure, convention):
    scores = model.predict(data.take_features(kept))
    return evaluate(data.y, scores, data.qid, [measure], convention).per_query[measure]


@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).choice([0.25, 1, 4], 40)])
def test_a_study_is_what_a_plain_one_finds(data, weights):
    data = data.with_weights(weights)
    plan = dict(
        selectors=["gas-e", "fs-scpr", "fs-ed", "all", "random"],
        rankers=["rankrls", "listnet"],
        ks=[1, 4],
        grids={"gas-e": {"c": [0.0, 0.3]}, "rankrls": {"lam": [0.1, 10.0]}},
        parameters={"listnet": {"tol": 0.1}},
    )
    result = Study(data, **plan, measures=["map", "ndcg@3"], convention="letor4", seeds=2).run()
    with limit_threads(1), limit_blas_threads(1):
        expected = plain_study(
            data, **plan, tune="MAP", measures=["MAP", "NDCG@3"], convention="letor4", seeds=2
        )
    n_checked, ids = 0, [fold.query_ids for fold in result.folds]
    for (selector, ranker), run in result.runs.items():
        seeds = [0, 1] if run.chosen.n_seeds == 2 else [None]
        for (place, seed), fold in product(enumerate(seeds), range(5)):
            outcome = run.chosen.outcomes[place][fold]
            for measure in ("MAP", "NDCG@3"):
                kept, values = expected[selector, ranker, seed, fold, measure]
                assert sorted(outcome.features) == kept
                np.testing.assert_array_equal(outcome.per_query[measure], values)
                own = None if weights is None else weights[np.isin(data.query_ids, ids[fold])]
                mean = run.chosen.values(measure)[place, fold]
                assert mean == np.average(values, weights=own)
                n_checked += 1
    assert n_checked == len(expected)


def test_paths_and_trainings_are_computed_once(data):
    study = Study(data, selectors=["gas-e", "top"], ks=[1, 2, 3, 4], **QUICK, baselines=False)
    study.run()
    cells = [
        json.loads(line)["cell"]
        for line in (study.directory / "ledger.jsonl").read_text().splitlines()[1:]
    ]
    first = [cell for cell in cells if cell["trial"] == "Fold1"]
    selections = [cell for cell in first if cell["kind"] == "select"]
    # One path for each of eight c, and one more; not one for each number of features.
    assert len(selections) == 9
    assert all(cell["k"] == 4 for cell in selections)
    subsets = [tuple(cell["features"]) for cell in first if cell["kind"] == "train"]
    assert len(subsets) == len(set(subsets)) < 9 * 4


def test_selectors_share_statistics(data, monkeypatch):
    from ranksieve.sums import similarity

    calls = []
    plain = similarity.compare_features

    def counted(*arguments):
        calls.append(1)
        return plain(*arguments)

    monkeypatch.setattr(similarity, "compare_features", counted)
    Study(data, selectors=["gas-e", "gas-l", "mmr"], ks=[2], **QUICK, baselines=False).run()
    # Eight c, eight c and nine trade-offs on each of five folds; two conventions of similarity.
    assert len(calls) <= 5 * 2


def test_a_finished_study_is_read_back_without_its_data(data, tmp_path):
    study = Study(data, selectors=["gas-e"], ks=[2], **QUICK, out=tmp_path / "s", title="mine")
    result, loaded = study.run(), load_study(tmp_path / "s")
    assert without_times(loaded) == without_times(result)
    assert loaded.title == "mine"
    assert loaded.protocol == result.protocol
    assert list(loaded.feature_names) == list(result.feature_names)
    seconds = [run.chosen.training_seconds for run in result.runs.values()]
    assert [run.chosen.training_seconds for run in loaded.runs.values()] == seconds


def test_only_what_is_missing_is_run(data, tmp_path):
    out = tmp_path / "s"
    ledger = out / "ledger.jsonl"
    Study(data, selectors=["gas-e"], ks=[2], **QUICK, out=out).run()
    before = ledger.read_bytes()
    Study(data, selectors=["gas-e"], ks=[2], **QUICK, out=out).run()
    assert ledger.read_bytes() == before
    more = Study(data, selectors=["gas-e", "top"], ks=[2, 3], **QUICK, out=out).run()
    assert ledger.read_bytes().startswith(before)
    fresh = Study(data, selectors=["gas-e", "top"], ks=[2, 3], **QUICK).run()
    assert without_times(more) == without_times(fresh)


def test_other_data_and_settings_are_refused(data, tmp_path):
    plan = dict(selectors=["top"], ks=[2], **QUICK, out=tmp_path / "s")
    Study(data, **plan).run()
    files = {path.name: path.read_bytes() for path in (tmp_path / "s").iterdir()}
    changed = RankingData(data.X + 1.0, data.y, data.qid)
    with pytest.raises(DataError, match="Fold1 of these results has other data; name another"):
        Study(changed, **plan | {"selectors": ["gas-e"]}).run()
    with pytest.raises(DataError, match="results with convention 'standard', not 'letor4'"):
        Study(data, **plan, convention="letor4").run()
    with pytest.raises(DataError, match="results with protocol"):
        Study(data, **plan, protocol="six-trials").run()
    assert {path.name: path.read_bytes() for path in (tmp_path / "s").iterdir()} == files


def test_a_plan_of_other_results_is_refused(data, tmp_path):
    plan = dict(selectors=["top"], ks=[2], **QUICK)
    Study(data, **plan, out=tmp_path / "a").run()
    Study(data, **plan, out=tmp_path / "b", convention="letor4").run()
    (tmp_path / "b" / "study.toml").replace(tmp_path / "a" / "study.toml")
    message = "the results have convention 'standard', but the plan in study.toml has"
    with pytest.raises(DataError, match=message):
        load_study(tmp_path / "a")


def test_a_fold_whose_line_was_lost_is_not_left_out(data, tmp_path):
    plan = dict(selectors=["top"], ks=[2], **QUICK, out=tmp_path / "s")
    whole = Study(data, **plan).run()
    ledger = tmp_path / "s" / "ledger.jsonl"
    lines = ledger.read_text().splitlines(keepends=True)
    lost = next(line for line in lines if '{"kind": "trial", "trial": "Fold3"}' in line)
    ledger.write_text("".join(line for line in lines if line != lost))
    with pytest.raises(DataError, match="not finished"):
        load_study(tmp_path / "s")
    assert without_times(Study(data, **plan).run()) == without_times(whole)


@pytest.mark.parametrize("n_lines", [1, 2, 3, 10, -1])
def test_an_unfinished_study_says_what_to_do(data, tmp_path, n_lines):
    Study(data, selectors=["top"], ks=[2], **QUICK, out=tmp_path / "s").run()
    ledger = tmp_path / "s" / "ledger.jsonl"
    ledger.write_text("".join(ledger.read_text().splitlines(keepends=True)[:n_lines]))
    with pytest.raises(DataError, match="not finished; run the command that started it to resume"):
        load_study(tmp_path / "s")


@pytest.mark.parametrize(
    ("pattern", "new", "message"),
    [
        (rb'"test": ', rb'"other": ', "Fold1 does not fit the other folds of a study"),
        (rb'"trials": [^]]*]', rb'"trials": []', "not the results of a study"),
        (rb'"validation": [^,]*', rb'"validation": null', "has no validation value"),
    ],
)
def test_a_ledger_of_another_experiment_is_refused(data, tmp_path, pattern, new, message):
    Study(data, selectors=["top"], ks=[2], **QUICK, out=tmp_path).run()
    path, lines = tmp_path / "ledger.jsonl", []
    for line in path.read_bytes().splitlines():
        body = re.sub(pattern, new, line.rpartition(b', "checksum"')[0])
        lines.append(body + f', "checksum": "{checksum(body)}"}}\n'.encode())
    path.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match=message):
        load_study(tmp_path)


# In a process of its own; tests/experiments has kills, several processes and clusters.


@pytest.fixture(scope="module")
def letor_file(tmp_path_factory):
    data, _ = make_ranking(60, **SMALL, random_state=5)
    path = tmp_path_factory.mktemp("data") / "queries.txt"
    write_letor(data, path)
    return path


def options(letor_file, out):
    return [
        *("compare", str(letor_file), "--out", str(out)),
        *("--selectors", "gas-e,fs-scpr", "--rankers", "rankrls,lambdamart", "--ks", "1,3"),
        *("--grid", "gas-e.c=0,1", "--grid", "rankrls.lam=0.1,10", "--protocol", "kfold:3"),
        *("--seeds", "2", "--no-figures", "--param", "lambdamart.n_estimators=5"),
    ]


@pytest.fixture(scope="module")
def finish(letor_file):
    """Run or resume the study in a directory, in this process; gives its result."""

    def run(out):
        with redirect_stdout(StringIO()), pytest.raises(SystemExit) as end:
            main(options(letor_file, out))
        assert not end.value.code
        return without_times(load_study(out))

    return run


@pytest.fixture(scope="module")
def undisturbed(finish, tmp_path_factory):
    return finish(tmp_path_factory.mktemp("studies") / "undisturbed")


@pytest.fixture
def start(letor_file, start_program):
    """Begin or resume the study in a directory, in a process of its own."""
    return lambda out, *more: start_program(main, [*options(letor_file, out), *more])


def wait_for_lines(path, n, program):
    until = time.monotonic() + 600
    while not path.exists() or path.read_bytes().count(b"\n") < n:
        assert program.is_running(), "the study ended too early"
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_interrupted_it_says_how_to_go_on(start, finish, tmp_path, undisturbed, number, status):
    out = tmp_path / "interrupted"
    program = start(out)
    wait_for_lines(out / "ledger.jsonl", 25, program)
    program.kill(number)
    ended, _, told = program.wait()
    assert ended == status
    assert f"finished work is kept in {out}" in told
    assert "run the same command again to resume it" in told
    assert "Traceback" not in told
    assert {path.name for path in out.iterdir()} <= {"ledger.jsonl", "study.toml"}
    assert finish(out) == undisturbed


def test_directories_may_be_links(finish, tmp_path, undisturbed):
    (tmp_path / "elsewhere" / "tables").mkdir(parents=True)
    (tmp_path / "more").mkdir()
    out = tmp_path / "link"
    out.symlink_to(tmp_path / "elsewhere")
    (out / "tables").rmdir()
    (out / "tables").symlink_to(tmp_path / "more")
    assert finish(out) == undisturbed
    assert (tmp_path / "more" / "comparison-rankrls.csv").is_file()
    assert out.is_symlink()
    assert (out / "tables").is_symlink()
    (out / "tables").unlink()
    (out / "tables").symlink_to(tmp_path / "nowhere" / "tables")
    with pytest.raises(DataError, match="tables: cannot be created"):
        write_report(load_study(out), out, figures=False)


# Nothing leaks from the test queries.


def one_fold(data, **plan):
    """A study of the first fold only."""
    study = Study(data, **plan)
    study.trials = study.trials[:1]
    return study


LEAK_SELECTORS = [
    name for name in SELECTORS if name not in ("fs-bfs", "annealing", "greedy-rankrls-cv")
]


@pytest.mark.slow
def test_a_feature_that_is_perfect_on_test_queries_only_is_not_preferred():
    data, _ = make_ranking(40, **SMALL, noise=0.3, random_state=1)
    noise = np.random.default_rng(0).uniform(size=(data.n_rows, 1))
    split = query_kfold(data.n_queries, 5, random_state=0)[0]
    is_test = np.isin(data.query_codes, split.test)
    perfect = np.where(is_test[:, None], data.y[:, None], noise)
    leaky = RankingData(np.hstack([data.X, perfect]), data.y, data.qid)
    harmless = RankingData(np.hstack([data.X, noise]), data.y, data.qid)
    plan = dict(selectors=LEAK_SELECTORS, rankers=["rankrls"], ks=[2, 4], seeds=2)
    plan |= {"grids": {"rankrls": {"lam": [0.1, 10.0]}, **small_grids()}}
    plan |= {"parameters": {name: unsearched(name, plan["grids"]) for name in LEAK_SELECTORS}}
    with_leak, without = one_fold(leaky, **plan).run(), one_fold(harmless, **plan).run()
    planted = data.n_features
    n_taken = n_random = 0
    for key, run in with_leak.runs.items():
        for seed, outcomes in enumerate(run.chosen.outcomes):
            other = without.runs[key].chosen.outcomes[seed][0]
            assert outcomes[0].features == other.features
            assert outcomes[0].validation == other.validation
            assert outcomes[0].ranker_parameters == other.ranker_parameters
            if key[0] not in ("all", "random"):
                n_random += len(outcomes[0].features) / leaky.n_features
                n_taken += planted in outcomes[0].features
    # A feature of no use on the other queries is taken no more often than a random one.
    assert n_taken < n_random


def unsearched(name, grids):
    """Parameters that make a selector quick, but for those that a grid has."""
    trees = {"params": QUICK_TREES} if "params" in SELECTORS[name].defaults else {}
    quick = dict(SELECTORS[name].trial) | trees
    return {key: own for key, own in quick.items() if key not in grids.get(name, ())}


def small_grids():
    """Two values of each parameter are enough to see whether a choice leaks."""
    return {
        name: {
            parameter: values[:2]
            for parameter, values in SELECTORS[name].grid.items()
            if parameter != "n_estimators"
        }
        for name in LEAK_SELECTORS
        if SELECTORS[name].grid
    }


def test_whatever_the_test_queries_are_the_choices_are_the_same(data):
    rng = np.random.default_rng(1)
    split = query_kfold(data.n_queries, 5, random_state=0)[0]
    is_test = np.isin(data.query_codes, split.test)
    X, y = data.X.copy(), data.y.copy()
    X[is_test] = rng.normal(size=(is_test.sum(), data.n_features))
    y[is_test] = rng.integers(0, 3, is_test.sum())
    plan = dict(
        selectors=["gas-e", "fs-ed", "greedy-rankrls", "bt-influence"],
        rankers=["ranksvm", "lambdamart", "listnet"],
        ks=[2, 4],
        seeds=2,
        parameters={
            "lambdamart": {"n_estimators": 10, "params": QUICK_TREES},
            "bt-influence": {"params": QUICK_TREES},
        },
    )
    before = one_fold(data, **plan).run()
    after = one_fold(RankingData(X, y, data.qid), **plan).run()
    differ = 0
    for key, run in before.runs.items():
        for mine, other in zip(run.chosen.outcomes, after.runs[key].chosen.outcomes, strict=True):
            (mine,), (other,) = mine, other
            assert mine.features == other.features
            assert mine.selector_parameters == other.selector_parameters
            assert mine.ranker_parameters == other.ranker_parameters
            assert mine.validation == other.validation
            differ += bool(np.any(mine.per_query["MAP"] != other.per_query["MAP"]))
    assert differ == len([seed for run in before.runs.values() for seed in run.chosen.outcomes])


def test_shuffled_labels_give_significant_differences_no_more_often_than_the_level():
    n_studies, level = 16, 0.05
    found = 0
    for seed in range(n_studies):
        data, _ = make_ranking(
            50, n_informative=2, n_redundant=2, n_noise=2, docs_per_query=8, random_state=seed
        )
        rng = np.random.default_rng(seed)
        order = np.lexsort((rng.uniform(size=data.n_rows), data.query_codes))
        shuffled = RankingData(data.X, data.y[order], data.qid)
        result = Study(
            shuffled,
            selectors=["gas-e", "top"],
            rankers=["rankrls"],
            ks=[1, 3],
            measures=["map"],
            seeds=2,
            protocol="kfold:3",
            grids={"rankrls": {"lam": [1.0]}, "gas-e": {"c": [0.01, 1.0]}},
        ).run()
        versus = compare_with(result) + compare_with(result, "random")
        found += min(v.adjusted for v in versus) < level
    # Both families of tests together, so at most twice the level.
    assert found <= scipy_stats.binom.ppf(0.999, n_studies, 2 * level)


# Data that cannot be.


def test_numbers_beyond_the_features_are_left_out(data):
    procedure = Procedure(Plan(ks=[3, 500, "all"]), data.feature_names)
    assert procedure.sizes_of("gas-e") == [3, data.n_features]
    with pytest.raises(DataError, match="only 10 features; set ks to smaller numbers"):
        Procedure(Plan(ks=[500]), [str(number) for number in range(10)])


def test_a_missing_part_file_is_named(data, tmp_path):
    for number in (1, 2, 3, 5):
        write_letor(data.take_queries(np.arange(number, 40, 5)), tmp_path / f"S{number}.txt")
    with pytest.raises(DataError, match="S4 of S1..S5 is missing"):
        Study(tmp_path, selectors=["top"])


# Protocols.


def test_protocols_by_name():
    assert Protocol.parse("kfold:7", seed=3) == Protocol("kfold", 7, 3)
    assert Protocol.parse("six-trials").name == "six-trials"
    with pytest.raises(ValueError, match="unknown protocol 'loo'; choose from letor, split, kfold"):
        Protocol.parse("loo")
    with pytest.raises(ValueError, match="only kfold takes a number"):
        Protocol.parse("letor:5")
    with pytest.raises(ValueError, match="need 3 parts, got 2"):
        Protocol.parse("kfold:2")


def test_letor_folds_are_those_of_the_files(data, tmp_path):
    parts = np.array_split(np.arange(data.n_queries), 5)
    for number, part in enumerate(parts, start=1):
        write_letor(data.take_queries(part), tmp_path / f"S{number}.txt")
    study = Study(tmp_path, selectors=["top"], ks=[2], **QUICK)
    assert study.protocol_in_words == "the folds of the collection"
    fold = study.trials[1].open()
    assert fold.name == "Fold2"
    ids = data.query_ids
    assert fold.train.query_ids.tolist() == ids[np.concatenate(parts[1:4])].tolist()
    assert fold.vali.query_ids.tolist() == ids[parts[4]].tolist()
    assert fold.test.query_ids.tolist() == ids[parts[0]].tolist()


def test_files_that_folds_share_are_read_once(tmp_path, data, monkeypatch):
    for number, part in enumerate(np.array_split(np.arange(data.n_queries), 5), start=1):
        write_letor(data.take_queries(part), tmp_path / f"S{number}.txt")
    opened, original = [], fold_files.read_letor

    def counting(path, **options):
        opened.append(path.name)
        return original(path, **options)

    monkeypatch.setattr(fold_files, "read_letor", counting)
    Study(tmp_path, selectors=["top"], ks=[2], **QUICK).run()

    assert sorted(opened) == [f"S{number}.txt" for number in range(1, 6)]


def test_a_query_tested_in_two_trials_counts_once(data):
    result = Study(data, protocol="six-trials", selectors=["top"], ks=[2], **QUICK).run()
    run = result.run("top", "rankrls").chosen
    values = run.per_query("MAP")
    assert len(values) == result.n_queries == data.n_queries
    by_query = {query: [] for query in data.query_ids.tolist()}
    for fold, outcome in zip(run.folds, run.outcomes[0], strict=True):
        for query, value in zip(fold.query_ids, outcome.per_query["MAP"], strict=True):
            by_query[query].append(value)
    assert all(len(values) == 2 for values in by_query.values())
    order = list(dict.fromkeys(query for fold in run.folds for query in fold.query_ids))
    np.testing.assert_allclose(values, [np.mean(by_query[query]) for query in order])


def test_string_queries_are_known_again(tmp_path):
    data, _ = make_ranking(20, **SMALL)
    named = RankingData(data.X, data.y, [f"query {q}" for q in data.qid])
    plan = dict(selectors=["top"], ks=[2], **QUICK, out=tmp_path / "s")
    assert without_times(Study(named, **plan).run()) == without_times(Study(named, **plan).run())


# Choice of the number of features.


def test_one_standard_error_takes_the_fewest_features(data):
    plan = dict(selectors=["gas-e"], ks=[1, 2, 3, 5, 8], **QUICK)
    best = Study(data, **plan).run().run("gas-e", "rankrls")
    fewest = Study(data, **plan, choose="one-se").run().run("gas-e", "rankrls")
    fewer = 0
    for fold in range(5):
        sizes = {k: tested.outcomes[0][fold] for k, tested in best.by_k.items()}
        top = max(sizes.values(), key=lambda outcome: outcome.validation)
        assert best.chosen.outcomes[0][fold].validation == top.validation
        enough = top.validation - top.validation_error
        expected = min(k for k, outcome in sizes.items() if outcome.validation >= enough)
        assert fewest.chosen.outcomes[0][fold].k == expected
        fewer += expected < top.k
    assert fewer > 0


def test_a_ranker_within_a_selector_is_given_by_name(data):
    plan = dict(selectors=["sequential"], ks=[2], **QUICK, baselines=False)
    result = Study(data, **plan, parameters={"sequential": {"ranker": "ranksvm"}}).run()
    assert len(result.run("sequential", "rankrls").chosen.selections) == 5


def test_data_of_no_known_kind_is_refused():
    with pytest.raises(
        DataError, match="must be a RankingData, shards, a collection, a frame or paths"
    ):
        Study(42)
    with pytest.raises(DataError, match=r"not ndarray; make one of .* RankingData\(X, y, qid\)"):
        Study(np.ones((2, 2)))


@pytest.mark.parametrize("name", [name for name in SELECTORS if not SELECTORS[name].draws])
def test_methods_that_are_said_not_to_draw_do_not(data, name):
    train, vali, _ = query_kfold(data.n_queries, 5)[0].apply(data)
    beside = {"eval_set": vali} if SELECTORS[name].uses_held_out_data else {}
    chosen = [
        make_selector(name, 4, random_state=seed).fit(train, **beside).selected_.tolist()
        for seed in range(4)
    ]
    assert all(features == chosen[0] for features in chosen)


def test_lambdamart_does_not_draw(data):
    scores = [make_ranker("lambdamart", random_state=s).fit(data).predict(data) for s in (0, 1)]
    np.testing.assert_array_equal(*scores)
