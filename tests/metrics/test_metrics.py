"""Measures against naive versions, the programs that the conventions are named after, and LETOR."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranksieve import DataError, read_letor
from ranksieve.metrics import (
    CONVENTIONS,
    ERR,
    MAP,
    MRR,
    NDCG,
    MeanNDCG,
    P,
    PairwiseError,
    evaluate,
    make_query_scorer,
    parse_measure,
)
from ranksieve.threads import limit_threads
from tests import oracles

MEASURES = {
    "NDCG": oracles.ndcg,
    "MAP": oracles.average_precision,
    "P": oracles.precision,
    "MeanNDCG": oracles.mean_ndcg,
    "MRR": oracles.reciprocal_rank,
    "ERR": oracles.expected_reciprocal_rank,
}
NO_CUTOFF = ("MeanNDCG", "PairwiseError")


def defined(convention: str) -> list[str]:
    return [name for name in MEASURES if name not in CONVENTIONS[convention].undefined]


@st.composite
def rankings(draw, max_documents=6, distinct_scores=False):
    """Labels, scores and query ids of a few queries, with many ties."""
    lengths = draw(st.lists(st.integers(1, max_documents), min_size=1, max_size=4))
    n = sum(lengths)
    labels = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    if distinct_scores:
        scores = draw(st.permutations(range(n)))
    else:
        scores = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    qid = np.repeat(np.arange(len(lengths)), lengths)
    return np.array(labels, dtype=float), np.array(scores, dtype=float), qid


def per_query_oracle(function, labels, scores, qid, average, *arguments):
    values = []
    for query in dict.fromkeys(qid.tolist()):
        rows = qid == query
        y, s = labels[rows].tolist(), scores[rows].tolist()
        if average:
            values.append(oracles.averaged(function, y, s, *arguments))
        else:
            values.append(function(oracles.ranked(y, s), *arguments))
    return values


@given(rankings(), st.sampled_from(sorted(CONVENTIONS)), st.booleans(), st.data())
def test_every_measure_equals_its_naive_version(case, convention, average, data):
    labels, scores, qid = case
    name = data.draw(st.sampled_from(defined(convention)))
    smallest = 1 if name == "P" else 0
    k = None if name in NO_CUTOFF else data.draw(st.integers(smallest, 8)) or None
    measure = parse_measure(name.lower() if k is None else f"{name.lower()}@{k}")
    ties = "average" if average else "stable"
    result = evaluate(labels, scores, qid, measure, convention, ties=ties)
    expected = per_query_oracle(MEASURES[name], labels, scores, qid, average, k, convention)
    np.testing.assert_allclose(result.per_query[measure.name], expected, rtol=1e-12, atol=1e-14)
    assert result.mean[measure.name] == pytest.approx(np.mean(expected), rel=1e-12)


@given(rankings(), st.sampled_from(["stable", "average"]))
def test_pairwise_error_equals_counting_pairs(case, ties):
    labels, scores, qid = case
    result = evaluate(labels, scores, qid, PairwiseError(), ties=ties)
    expected = [
        oracles.pairwise_error(labels[qid == query].tolist(), scores[qid == query].tolist())
        for query in dict.fromkeys(qid.tolist())
    ]
    np.testing.assert_allclose(result.per_query["PairwiseError"], expected, atol=1e-14)
    # The mean is over the queries that have pairs.
    with_pairs = [error for error in expected if not np.isnan(error)]
    mean = np.mean(with_pairs) if with_pairs else np.nan
    assert result.mean["PairwiseError"] == pytest.approx(mean, abs=1e-12, nan_ok=True)


def test_weighted_mean_of_pairwise_errors_is_over_queries_with_pairs():
    labels, qid = [0, 1, 1, 1, 0, 1], [1, 1, 2, 2, 3, 3]
    result = evaluate(
        labels, [1, 0, 5, 6, 1, 1], qid, "pairwise-error", query_weights=[3.0, 100.0, 1.0]
    )
    np.testing.assert_array_equal(result.per_query["PairwiseError"], [1.0, np.nan, 0.5])
    assert result.mean["PairwiseError"] == (3 * 1 + 1 * 0.5) / 4


@given(rankings(max_documents=40), st.sampled_from(sorted(CONVENTIONS)))
def test_the_ideal_order_is_perfect(case, convention):
    labels, _, qid = case
    has_relevant = np.array([labels[qid == query].max() > 0 for query in np.unique(qid)])
    for ties in ("stable", "average"):
        measures = [NDCG(1), NDCG(), MeanNDCG()]
        result = evaluate(labels, labels, qid, measures, convention, ties=ties)
        for values in result.per_query.values():
            assert np.all(values[has_relevant] == 1.0)
    errors = evaluate(labels, labels, qid, PairwiseError()).per_query["PairwiseError"]
    assert np.all((errors == 0) | np.isnan(errors))


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 31, 33, 100, 1000])
def test_long_lists_are_sorted_stably(n):
    rng = np.random.default_rng(n)
    labels = rng.integers(0, 3, n).astype(float)
    scores = rng.integers(0, max(2, n // 3), n).astype(float)
    result = evaluate(labels, scores, np.zeros(n), [NDCG(), MAP()], ties="stable")
    ranked = oracles.ranked(labels.tolist(), scores.tolist())
    assert result.mean["NDCG"] == pytest.approx(oracles.ndcg(ranked, None, "standard"), rel=1e-12)
    expected = oracles.average_precision(ranked, None, "standard")
    assert result.mean["MAP"] == pytest.approx(expected, rel=1e-12)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 5, 60_000), rng.integers(0, 50, 60_000)
    qid = np.sort(rng.integers(0, 900, 60_000))
    measures = [NDCG(10), MAP(), P(5), MeanNDCG(), MRR(), ERR(10), PairwiseError()]
    results = []
    for n in (1, 2, 5):
        with limit_threads(n):
            results.append(evaluate(labels, scores, qid, measures, ties="average"))
    for other in results[1:]:
        for name, values in results[0].per_query.items():
            np.testing.assert_array_equal(other.per_query[name], values)


# The programs themselves


def peer_data(seed, grades=3, longest=29):
    """Ties, one-document queries and queries without relevant documents."""
    rng = np.random.default_rng(seed)
    lengths = np.concatenate([[1, 1, 2], rng.integers(1, longest + 1, 40)])
    n = lengths.sum()
    qid = np.repeat(np.arange(len(lengths)), lengths)
    labels = np.where(rng.random(n) < 0.6, 0, rng.integers(0, grades, n)).astype(float)
    labels[np.isin(qid, [0, 5, 9])] = 0
    scores = rng.integers(0, 12, n) / 4.0  # exact in 32 bits
    return labels, scores, qid, lengths


@pytest.mark.parametrize("seed", range(5))
def test_lightgbm(seed):
    lightgbm = pytest.importorskip("lightgbm")
    labels, scores, _, lengths = peer_data(seed)
    cutoffs = [1, 3, 10, 40]
    quiet = {"verbose": -1, "min_data_in_bin": 1, "min_data_in_leaf": 10**6}
    X = np.arange(len(labels), dtype=float)[:, None]
    train = lightgbm.Dataset(X, labels, group=lengths, params=quiet)
    valid = lightgbm.Dataset(X, labels, group=lengths, init_score=scores, reference=train)
    theirs: dict = {}
    lightgbm.train(  # no split is possible, so the metric is that of the initial scores
        {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": cutoffs, **quiet},
        train,
        1,
        valid_sets=[valid],
        callbacks=[lightgbm.record_evaluation(theirs)],
    )
    qid = np.repeat(np.arange(len(lengths)), lengths)
    measures = [kind(k) for kind in (NDCG, MAP) for k in cutoffs]
    ours = evaluate(labels, scores, qid, measures, "lightgbm").mean
    for name, (value,) in theirs["valid_0"].items():
        assert ours[name.upper()] == pytest.approx(value, rel=1e-10)


def xgboost_values(labels, scores, lengths, metrics, **parameters):
    xgboost = pytest.importorskip("xgboost")
    matrix = xgboost.DMatrix(np.zeros((len(labels), 1)), label=labels)
    matrix.set_group(lengths)
    matrix.set_base_margin(scores)
    usual = {"objective": "rank:ndcg", "eval_metric": metrics, "base_score": 0.5}
    booster = xgboost.train(usual | parameters, matrix, num_boost_round=0)
    pairs = booster.eval(matrix).split("\t")[1:]
    return {name.removeprefix("eval-"): float(v) for name, v in (p.rsplit(":", 1) for p in pairs)}


def assert_equals_xgboost(case, names, convention="xgboost", **parameters):
    labels, scores, qid, lengths = case
    theirs = xgboost_values(labels, scores, lengths, names, **parameters)
    for name in names:
        ours = evaluate(labels, scores, qid, name.replace("pre", "p"), convention)
        assert ours.mean.popitem()[1] == pytest.approx(theirs[name], rel=1e-6), name


GRADED = ["ndcg", "ndcg-", "ndcg@1", "ndcg@3", "ndcg@10", "ndcg@32", "ndcg@100", "ndcg@10-"]
BINARY = ["map", "map-", "map@1", "map@3", "map@40", "map@3-", "pre@1", "pre@3", "pre@10", "pre@50"]


@pytest.mark.parametrize("longest", [29, 31, 33, 64, 200])  # it stops at 32 without a cutoff
@pytest.mark.parametrize("seed", range(5))
def test_xgboost(seed, longest):
    assert_equals_xgboost(peer_data(seed, longest=longest), GRADED)
    assert_equals_xgboost(peer_data(seed, grades=2, longest=longest), [*BINARY, "ndcg"])


@pytest.mark.parametrize(
    "parameters",
    [
        {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": 8},
        {"lambdarank_pair_method": "mean"},
        {"objective": "rank:pairwise"},
        {"objective": "reg:squarederror"},
    ],
)
def test_xgboost_measures_the_same_whatever_it_trains_for(parameters):
    assert_equals_xgboost(peer_data(0, longest=100), GRADED, **parameters)


def test_xgboost_with_linear_gains():
    pytest.importorskip("xgboost", minversion="3.0", reason="XGBoost 2 ignores ndcg_exp_gain")
    linear = dataclasses.replace(CONVENTIONS["xgboost"], gain="linear")
    assert_equals_xgboost(peer_data(0, longest=100), GRADED, linear, ndcg_exp_gain=False)


@pytest.mark.parametrize("seed", range(5))
def test_trec_eval(seed):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    labels, scores, qid, _ = peer_data(seed)
    rng = np.random.default_rng(seed)
    scores = scores + rng.integers(-1, 2, len(scores)) * 1e-12  # equal in 32 bits only
    docs = np.array([f"d{number}" for number in rng.permutation(len(labels))], dtype=object)
    qrels: dict = {}
    run: dict = {}
    for label, score, query, doc in zip(labels, scores, qid, docs, strict=True):
        qrels.setdefault(str(query), {})[doc] = int(label)
        run.setdefault(str(query), {})[doc] = float(score)
    names = {
        "ndcg": NDCG(),
        "ndcg_cut_5": NDCG(5),
        "map": MAP(),
        "map_cut_5": MAP(5),
        "P_5": P(5),
        "P_30": P(30),
        "recip_rank": MRR(),
    }
    asked = {"ndcg", "ndcg_cut.5", "map", "map_cut.5", "P.5,30", "recip_rank"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)
    ours = evaluate(labels, scores, qid, names.values(), "trec", doc_ids=docs)
    for name, measure in names.items():
        values = [theirs[str(query)][name] for query in ours.query_ids]
        np.testing.assert_allclose(ours.per_query[measure.name], values, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_scikit_learn(seed):
    from sklearn.metrics import ndcg_score

    labels, scores, qid, _ = peer_data(seed)
    for k in (1, 3, 10, None):
        ours = evaluate(labels, scores, qid, NDCG(k), "sklearn")
        for query, value in zip(ours.query_ids, ours.per_query[NDCG(k).name], strict=True):
            rows = qid == query
            if rows.sum() > 1:  # scikit-learn refuses single documents
                theirs = ndcg_score(labels[rows][None], scores[rows][None], k=k)
                assert value == pytest.approx(theirs, rel=1e-10, abs=1e-12)


# Published digits


LETOR_DIGITS = {
    ("S5.txt", "MAP"): 0.4311,
    ("S5.txt", "P@10"): 0.2333,
    ("S5.txt", "MeanNDCG"): 0.4454,
    ("S5.txt", "NDCG@10"): 0.1920,
    ("S4.txt", "MAP"): 0.5183,
    ("S4.txt", "P@10"): 0.2484,
    ("S4.txt", "MeanNDCG"): 0.5369,
    ("S4.txt", "NDCG@10"): 0.2254,
}


def test_ranking_mq2008_by_feature_39_gives_the_published_digits(mq2008_dir):
    # On folds 1 and 5 greedy RankRLS chose this one feature (Pahikkala et al. 2010, Table 1).
    for (part, name), published in LETOR_DIGITS.items():
        data = read_letor(mq2008_dir / part, n_features=46)
        value = evaluate(data.y, data.X[:, 38], data.qid, name, "letor4").mean[name]
        assert round(value, 4) == published, (part, name)


def test_conventions_on_all_of_mq2008(mq2008_dir):
    data = read_letor([mq2008_dir / f"S{part}.txt" for part in range(1, 6)])
    no_short_rule = dataclasses.replace(CONVENTIONS["letor4"], short_list="truncate")
    linear = dataclasses.replace(CONVENTIONS["standard"], gain="linear")
    expected = {"letor4": 0.162, "ranklib": 0.399, "standard": 0.4, "lightgbm": 0.679}
    expected |= {"trec": 0.407, "sklearn": 0.407}
    for convention, value in [*expected.items(), (no_short_rule, 0.404), (linear, 0.407)]:
        scores, documents = data.X[:, 24], data.doc_ids
        result = evaluate(data.y, scores, data.qid, NDCG(10), convention, doc_ids=documents)
        assert round(result.mean["NDCG@10"], 3) == value


# Names, errors and scikit-learn


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ("ndcg@10", NDCG(10)),
        ("NDCG", NDCG()),
        (" map ", MAP()),
        ("ap@5", MAP(5)),
        ("p@10", P(10)),
        ("P(rel=2)@5", P(5, rel=2)),
        ("mean-ndcg", MeanNDCG()),
        ("MeanNDCG", MeanNDCG()),
        ("err@20", ERR(20)),
        ("err(max_grade=2)", ERR(max_grade=2)),
        ("rr", MRR()),
        ("mrr@10", MRR(10)),
        ("ndcg@10-", NDCG(10, empty=0)),
        ("map-", MAP(empty=0)),
        ("pairwise-error", PairwiseError()),
    ],
)
def test_names(text, measure):
    assert parse_measure(text) == measure
    assert parse_measure(measure.name) == measure
    assert repr(measure) == measure.name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ndgc@10", "unknown measure 'ndgc@10'; choose from ndcg, map"),
        ("ndcg@0", "positive integer"),
        ("ndcg@99999999999999999999", "positive integer below"),
        ("p", "needs a cutoff"),
        ("mean-ndcg@5", "no cutoff"),
        ("ndcg(rel=2)@5", "has no option 'rel'"),
        ("map(rel=x)", "'x' is not a finite number"),
        ("mrr-", "no variant with '-'"),
        ("", "unknown measure"),
        (3, "unknown measure 3; choose from ndcg, map"),
    ],
)
def test_wrong_names_are_explained(text, message):
    with pytest.raises(ValueError, match=message):
        parse_measure(text)


def test_a_measure_class_can_stand_for_its_default():
    assert parse_measure(MAP) == MAP()
    assert evaluate([1, 0], [1, 0], [1, 1], MAP).mean == {"MAP": 1.0}


def test_options_override_the_convention():
    labels, scores, qid = [0, 1, 2, 0, 0], [5, 4, 3, 2, 1], [1, 1, 1, 2, 2]
    assert evaluate(labels, scores, qid, "map(rel=2)").per_query["MAP(rel=2)"][0] == 1 / 3
    with_one = evaluate(labels, scores, qid, ["ndcg@2", "ndcg@2-"], "lightgbm").per_query
    assert with_one["NDCG@2"][1] == 1
    assert with_one["NDCG(empty=0)@2"][1] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(y=[1, 0], scores=[1.0], qid=[1, 1]), "scores has length 1, but y has length 2"),
        (
            dict(y=[1, 0], scores=[1.0, np.nan], qid=[1, 1]),
            "scores must be finite, but row 1 has nan",
        ),
        (dict(y=[np.inf, 0], scores=[1.0, 2], qid=[1, 1]), "y must be finite, but row 0 has inf"),
        (
            dict(y=[1, 0], scores=np.ma.masked_equal([1.0, 2], 2), qid=[1, 1]),
            "scores must be numbers, but it has masked values",
        ),
        (
            dict(y=[1, 0], scores=[1j, 2], qid=[1, 1]),
            "scores must be numbers, but it has values of type complex128",
        ),
        (dict(y=["a", 0], scores=[1.0, 2], qid=[1, 1]), "y must be numbers: could not convert"),
        (dict(y=[10**400, 0], scores=[1.0, 2], qid=[1, 1]), "y must be numbers: int too large"),
        (dict(y=[1, 0], scores=[1.0, 2], qid=[1]), "qid has 1 entries but X has 2 rows"),
        (dict(y=[1, 0], scores=[1.0, 2], qid=None), "qid is required"),
        (dict(y=[], scores=[], qid=[]), "no rows"),
        (dict(y=[-1, 0], scores=[1.0, 2], qid=[1, 1]), "labels of at least 0, but one is -1"),
        (dict(y=[2000, 0], scores=[1.0, 2], qid=[1, 1]), "too large"),
        (dict(y=[[1, 0]], scores=[1.0, 2], qid=[1, 1]), "one entry per row"),
    ],
)
def test_bad_input_is_explained(arguments, message):
    with pytest.raises(DataError, match=message):
        evaluate(**arguments, measures="ndcg@10")


def test_bad_choices_are_explained():
    with pytest.raises(
        ValueError, match=r"unknown convention 'letor5'; choose from standard, letor3"
    ):
        evaluate([1], [1], [1], "map", "letor5")
    with pytest.raises(ValueError, match="'sklearn' has no MAP"):
        evaluate([1], [1], [1], "map", "sklearn")
    with pytest.raises(ValueError, match="ties must be"):
        evaluate([1], [1], [1], "map", ties="random")
    with pytest.raises(DataError, match="max_grade=4"):
        evaluate([5], [1], [1], "err")


def test_trec_needs_document_ids_only_for_ties():
    assert evaluate([1, 0], [1.0, 2.0], [1, 1], "map", "trec").mean["MAP"] == 0.5
    with pytest.raises(DataError, match="pass doc_ids"):
        evaluate([1, 0], [1.0, 1.0], [1, 1], "map", "trec")
    with pytest.raises(DataError, match="doc_ids has length 1, but y has length 2"):
        evaluate([1, 0], [1.0, 1.0], [1, 1], "map", "trec", doc_ids=["a"])


class TestWeights:
    Y, SCORES, QID = [0, 1, 1, 0, 1, 0], [3.0, 2.0, 1.0, 1.0, 2.0, 3.0], list("abcabc")

    def test_means_are_weighted_and_values_of_queries_are_not(self):
        plain = evaluate(self.Y, self.SCORES, self.QID, ["ndcg@2", "map"])
        found = evaluate(self.Y, self.SCORES, self.QID, ["ndcg@2", "map"], query_weights=[3, 0, 1])
        by_row = evaluate(
            self.Y, self.SCORES, self.QID, ["ndcg@2", "map"], query_weights=[3, 0, 1, 3, 0, 1]
        )
        for name, values in plain.per_query.items():
            np.testing.assert_array_equal(found.per_query[name], values)
            assert found.mean[name] == pytest.approx((3 * values[0] + values[2]) / 4)
            assert by_row.mean[name] == found.mean[name]
            assert plain.mean[name] == pytest.approx(values.mean())
        assert plain.query_weights is None
        assert found.query_weights.tolist() == by_row.query_weights.tolist() == [3, 0, 1]

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1, 2], r"query_weights has shape \(2,\), but there are 3 queries and 6 rows"),
            ([1, 2, -1], "query_weights must be finite and not negative"),
            ([0, 0, 0], "must not be 0 for all queries"),
            ([1, 2, 3, 1, 2, 4], "query_weights must be the same for all rows of a query"),
            ("abc", "query_weights must be numbers"),
        ],
    )
    def test_wrong_weights(self, weights, message):
        with pytest.raises(DataError, match=message):
            evaluate(self.Y, self.SCORES, self.QID, "map", query_weights=weights)


def test_scorer_with_metadata_routing():
    import sklearn
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GroupKFold, cross_validate

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0).astype(float)
    qid = np.repeat(np.arange(20), 10)
    scorers = {"ndcg": make_query_scorer("ndcg@5"), "error": make_query_scorer("pairwise-error")}
    with sklearn.config_context(enable_metadata_routing=True):
        result = cross_validate(
            Ridge(),
            X,
            y,
            cv=GroupKFold(4),
            scoring=scorers,
            params={"qid": qid, "groups": qid},
        )
    assert np.all(result["test_ndcg"] > 0.9)
    assert np.all((result["test_error"] <= 0) & (result["test_error"] > -0.2))
    model = Ridge().fit(X, y)
    direct = evaluate(y, model.predict(X), qid, "ndcg@5").mean["NDCG@5"]
    assert scorers["ndcg"](model, X, y, qid=qid) == direct
    weights = np.repeat(np.arange(20), 10)
    direct = evaluate(y, model.predict(X), qid, "ndcg@5", query_weights=weights).mean["NDCG@5"]
    assert scorers["ndcg"](model, X, y, qid=qid, sample_weight=weights) == direct
    with pytest.raises(DataError, match="enable_metadata_routing"):
        scorers["ndcg"](model, X, y)


EVERY_MEASURE = [
    *(NDCG(), NDCG(1), NDCG(2), NDCG(5), MAP(), MAP(1), MAP(2), MAP(5), P(1), P(2), P(5)),
    *(MRR(), MRR(2), ERR(), ERR(3), MeanNDCG()),
]


def test_every_tie_pattern_of_four_documents():
    labels = [2.0, 0.0, 1.0, 0.0]
    for scores in itertools.product([0.0, 1.0, 2.0], repeat=4):
        ours = evaluate(labels, scores, [1] * 4, EVERY_MEASURE, "standard").mean
        for measure in EVERY_MEASURE:
            expected = oracles.averaged(
                MEASURES[measure.label], labels, list(scores), measure.cutoff, "standard"
            )
            assert ours[measure.name] == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_the_order_of_the_file_counts_only_where_programs_count_it():
    labels, qid = np.array([2.0, 1.0, 0.0, 0.0]), [1] * 4  # the relevant ones first
    by_file, backwards = (
        {
            name: evaluate(order, [0.0] * 4, qid, NDCG(2), name).mean["NDCG@2"]
            for name in CONVENTIONS
            if name != "trec"
        }
        for order in (labels, labels[::-1])
    )
    average = oracles.averaged(oracles.ndcg, labels.tolist(), [0.0] * 4, 2, "standard")
    for name, value in by_file.items():
        if name in ("standard", "sklearn"):
            assert value == pytest.approx(backwards[name])
        else:
            assert (value, backwards[name]) == (1, 0)
    assert by_file["standard"] == pytest.approx(average)


def test_another_label_can_be_the_smallest_relevant_one():
    y, scores, qid = [2, 1, 0, 2], [4.0, 3.0, 2.0, 1.0], [1, 1, 1, 1]
    found = evaluate(y, scores, qid, ["map", "p@2", "ndcg@10"], "standard:2")
    assert found.convention == "standard:2"
    assert found.mean["MAP"] == pytest.approx((1 + 2 / 4) / 2)
    assert found.mean["P@2"] == 0.5
    assert found.mean["NDCG@10"] == evaluate(y, scores, qid, ["ndcg@10"]).mean["NDCG@10"]
    with pytest.raises(ValueError, match="has no number after the colon"):
        evaluate(y, scores, qid, ["map"], "standard:high")
