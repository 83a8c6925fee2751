"""What recommend says before it trains, and that it compares nothing with itself."""

import logging

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking, recommend
from ranksieve.recommendation import check, load_recommendation
from ranksieve.report import sections

INCLUDED = "No feature may be left out: all are to be included."


@pytest.fixture(scope="module")
def data():
    return planted(0)


def planted(seed):
    data, _ = make_ranking(
        60, n_informative=3, n_redundant=0, n_noise=1, noise=0.3, random_state=seed
    )
    qid = [f"{seed}-{query}" for query in data.qid.tolist()]
    return RankingData(data.X, data.y, qid, feature_names=["a", "b", "c", "d"])


def with_columns(data, **columns):
    names = [*data.feature_names.tolist(), *columns]
    X = np.column_stack([data.X, *columns.values()])
    return RankingData(X, data.y, data.qid, feature_names=names)


def fit(*arguments, **options):
    return recommend(*arguments, "rankrls", progress=False, details=False, **options)


def test_warnings_come_before_work_and_first_in_the_answer(data, caplog, monkeypatch, tmp_path):
    log = with_columns(
        data,
        clicked=data.y > 0,
        **{"rank\nshown": np.random.default_rng(0).random(data.n_rows)},
        twice=2 * data.X[:, 1],
        tier=data.y * 0,
    )
    told = []

    def work(*arguments, **options):
        told.extend(record.getMessage() for record in caplog.records)
        return cross_fit(*arguments, **options)

    from ranksieve.recommendation import procedure

    cross_fit = procedure.cross_fit
    monkeypatch.setattr(procedure, "cross_fit", work)
    with caplog.at_level(logging.INFO, logger="ranksieve"):
        answer = fit(log, out=tmp_path / "out")
    assert [(one.kind, one.features) for one in answer.suspicions] == [
        ("leak", ["clicked"]),
        ("position", ["rank\nshown"]),
        ("copy", ["twice"]),
        ("constant", ["tier"]),
    ]
    assert told[0].startswith("clicked: ranks nearly perfectly alone: 100.0%")
    assert told[1].startswith("rank shown: by its name, the position")
    assert "--ignore 'clicked,rank shown'" in told[2]
    reasons = "twice (copy of b); tier (constant within every query)"
    assert told[3] == f"Left out of all smaller sets before any training: {reasons}."
    assert told[3] in answer.notes
    assert sections(answer)[0].notes[0] == answer.suspicions[0].sentence
    assert load_recommendation(tmp_path / "out").suspicions == answer.suspicions
    assert answer.to_record()["suspicions"][0]["numbers"]["right"] == 1.0


def test_excluded_features_are_not_suspicious(data):
    log = with_columns(data, clicked=data.y > 0)
    assert not fit(log, exclude=["clicked"]).suspicions


@pytest.mark.parametrize("selectors", [None, ["bt-influence"], ["top", "greedy-rankrls"]])
@pytest.mark.parametrize("costs", [None, {"a": 3, "b": 1, "twice": 2, "c": 1, "d": 1, "tier": 1}])
def test_copies_and_constants_leave_on_every_path(data, selectors, costs):
    log = with_columns(data, twice=3 - 2 * data.X[:, 1], tier=data.y * 0)
    answer = fit(log, selectors=selectors, costs=costs)
    tried = {answer.feature_names[feature] for point in answer.curve for feature in point.features}
    assert not tried & {"twice", "tier"}
    reasons = {answer.feature_names[one.feature]: one.reason for one in answer.dropped}
    if answer.dropped:
        assert reasons["twice"] == "exact copy of b"
        assert reasons["tier"] == "constant within every query"


@pytest.mark.parametrize(
    ("features", "options", "why"),
    [
        ("abcd", {"include": ["a", "b", "c", "d"]}, INCLUDED),
        ("abcd", {"include": ["a", "b", "c", "d"], "budget": 4}, INCLUDED),
        ("abcd", {"include": ["a", "b", "c"], "exclude": ["d"]}, INCLUDED),
        ("a", {"convention": "letor4"}, "No feature may be left out: it is the only one."),
    ],
)
@pytest.mark.parametrize("tested", ["no", "confirm", "split"])
def test_all_features_are_compared_with_nothing(data, tmp_path, features, options, why, tested):
    own, new = (one.take_features([*features]) for one in (data, planted(1)))
    source = (own, new) if tested == "split" else own
    options = options | ({"confirm": new} if tested == "confirm" else {})
    answer = fit(source, out=tmp_path, **options)
    assert len(answer.features) == answer.n_all == len(features) - len(options.get("exclude", []))
    assert answer.confirmed is None
    assert answer.claim.sentence == "All features are kept, so there is nothing to compare."
    assert answer.warnings == [why]
    assert bool(answer.notes) == (tested != "no")
    assert not answer.evidence.spent  # nothing was trained but the models to keep
    verdict = sections(answer)[0]
    assert verdict.word == "All kept"
    assert "lose" not in " ".join([verdict.sentence, *verdict.notes])
    found = check(tmp_path, planted(2).take_features([*features]), progress=False)
    assert found.claim.sentence == answer.claim.sentence
    assert found.sentence == "Holds: all features are kept, so there is nothing to compare."
    told = [found.sentence, *found.know, *found.act, *sections(found)[0].notes]
    assert not any(word in text for text in told for word in ("lose less", "Kept against all"))


def test_if_no_smaller_set_is_shown_only_smaller_sets_are_compared(data, tmp_path):
    own, new = (one.take_features(["a", "b", "c"]) for one in (data, planted(1)))
    answer = fit(own, margin=0.0005, out=tmp_path)
    assert answer.claim.about == "none"
    assert answer.advice.startswith("Keep all 3 features")
    assert all(point.size < 3 for point in answer.curve)
    assert check(tmp_path, new, progress=False).claim.about == "all"
