"""FS-BFS: the search as in the oracle, subsets as by exhaustive search, and new features."""

import itertools
import threading
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator

from ranksieve import DataError, RankingData, make_ranking
from ranksieve.data import Block
from ranksieve.datasets import open_collection
from ranksieve.metrics import evaluate, get_convention, parse_measure
from ranksieve.progress import listen
from ranksieve.selectors import FSBFS
from ranksieve.selectors.wrappers.fs_bfs_search import (
    Ascent,
    CombinationTrials,
    Node,
    PartialCorrelations,
)
from ranksieve.sums.gram import centered_gram
from ranksieve.threads import limit_threads
from tests.test_every_method import with_queries


def random_data(seed, n_queries=12, n_features=5, longest=9, ties=False):
    """Queries of 1 to 8 documents; features that help, hurt or do neither."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, longest, n_queries))
    y = rng.integers(0, 3, len(qid)).astype(float)
    y[qid == 0] = 0  # a query without relevant documents
    X = rng.normal(size=(len(qid), n_features))
    X += y[:, None] * np.resize([0.8, -0.8, 0.3, 0.0], n_features)
    X *= np.resize([1.0, 40.0, 0.02], n_features)
    return RankingData(np.round(X) if ties else X, y, qid)


def quality(data, scores, measure="ndcg@10", convention="standard", ties="average"):
    """Mean over queries, larger is better."""
    found = parse_measure(measure)
    value = evaluate(data.y, scores, data.qid, found, convention, ties=ties).mean[found.name]
    return value if found.greater_is_better else 1 - value


class Oracle:
    """The search by hand: every subset is evaluated as anybody would, and all nodes are listed."""

    def __init__(self, data, how, patience, n_steps, tol, max_size=99, max_changes=10):
        self.data, self.how, self.n_steps, self.tol = data, how, n_steps, tol
        self.patience, self.max_size, self.max_changes = patience, max_size, max_changes
        centered = data.X - np.array([data.X[data.qid == q].mean(axis=0) for q in data.qid])
        self.units = [2.0 ** round(np.log2(np.sqrt(np.mean(c**2)))) for c in centered.T]
        self.known = {}  # features in order of joining -> weights, value and value of the parent

    def value(self, weights):
        """``weights`` is a dict of feature to weight."""
        return quality(
            self.data, sum(weights[f] * self.data.X[:, f] for f in sorted(weights)), **self.how
        )

    def gain(self, value, before):
        return value - before > max(1e-12, self.tol - 1e-12)

    def line_search(self, weights, feature):
        """Best new weight of a feature, and its value."""
        total = sum(abs(w) * self.units[f] for f, w in weights.items())
        longest = 2.0 ** np.floor(np.log2(total)) / self.units[feature]
        sizes = [longest / 2**n for n in reversed(range(self.n_steps))]
        best = (None, -1.0)
        for step in [*sizes, *(-size for size in sizes)]:
            weight = weights.get(feature, 0.0) + step
            value = self.value(weights | {feature: weight})
            if weight != 0 and value > best[1] + 1e-12:
                best = (weight, value)
        return best

    def trained(self, weights, before):
        """Weights after the ascent, and their value."""
        value = self.value(weights)
        assert self.gain(value, before)
        improving = list(weights)
        for _ in range(self.max_changes):
            changes = {f: self.line_search(weights, f) for f in improving}
            improving = [f for f in improving if self.gain(changes[f][1], value)]
            if not improving:
                break
            best = improving[0]
            for f in improving:
                if changes[f][1] > changes[best][1] + 1e-12:
                    best = f
            weights = weights | {best: changes[best][0]}
            value = self.value(weights)
            improving.remove(best)
        return weights, value

    def single(self, feature):
        options = [{feature: sign / self.units[feature]} for sign in (1.0, -1.0)]
        return max(options, key=self.value)

    def best(self, remaining):
        for f in remaining:
            if frozenset([f]) not in self.known:
                weights = self.single(f)
                self.known[frozenset([f])] = [weights, self.value(weights), None]
        open_nodes, seen = [frozenset([f]) for f in remaining], {frozenset([f]) for f in remaining}
        best, stale = None, 0
        while open_nodes and stale < self.patience:
            most = max(self.known[node][1] for node in open_nodes)
            equals = [node for node in open_nodes if self.known[node][1] >= most - 1e-12]
            node = min(equals, key=lambda n: (len(n), sorted(n)))
            open_nodes.remove(node)
            weights, value, before = self.known[node]
            if before is not None:  # not trained yet
                weights, value = self.trained(weights, before)
                self.known[node] = [weights, value, None]
            if best is None or value > self.known[best][1] + 1e-12:
                best, stale = node, 0
            else:
                stale += 1
            if len(node) == self.max_size or stale == self.patience:
                continue
            for f in remaining:
                neighbor = node | {f}
                if neighbor not in self.known:
                    weight, reached = self.line_search(weights, f)
                    useful = self.gain(reached, value)
                    self.known[neighbor] = (
                        [weights | {f: weight}, reached, value] if useful else None
                    )
                if self.known[neighbor] is not None and neighbor not in seen:
                    seen.add(neighbor)
                    open_nodes.append(neighbor)
        return self.known[best]

    def subsets(self):
        remaining, found = list(range(self.data.n_features)), []
        while remaining:
            weights, value, _ = self.best(remaining)
            found.append((weights, value))
            remaining = [f for f in remaining if f not in weights]
        return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("how", "options"),
    [
        ({}, dict(patience=3, n_steps=5, tol=0.001)),
        (dict(measure="map", ties="stable"), dict(patience=1, n_steps=7, tol=0.0)),
        (dict(measure="pairwise-error"), dict(patience=5, n_steps=3, tol=0.01, max_size=2)),
        (
            dict(measure="ndcg@3", convention="letor4"),
            dict(patience=2, n_steps=4, tol=0, max_changes=1),
        ),
    ],
)
def test_oracle(seed, how, options):
    data = random_data(seed)
    expected = Oracle(data, how, **options).subsets()
    found = FSBFS(None, max_candidates=None, **how, **options).fit(data).subsets_
    assert [set(s.features) for s in found] == [set(weights) for weights, _ in expected]
    assert any(len(s.features) > 1 for s in found)
    for ours, (weights, value) in zip(found, expected, strict=True):
        score = 1 - ours.score if how.get("measure") == "pairwise-error" else ours.score
        assert score == pytest.approx(value, abs=1e-12)
        ratios = np.array(ours.weights) / [weights[f] for f in ours.features]
        assert np.all(ratios == ratios[0])  # but for a power of two the same weights, exactly
        assert ratios[0] > 0


@pytest.mark.parametrize("seed", range(4))
def test_exhaustive_search_finds_the_same_subset(seed):
    """The best of all subsets of up to three features, with all of some weights."""
    data, truth = make_ranking(
        40, docs_per_query=10, n_informative=3, n_redundant=0, n_noise=3, noise=0.02, skewed=0,
        tied=0, query_effect=0, random_state=seed,
    )  # fmt: skip
    X = data.X / data.X.std(axis=0)
    levels = [-1, -0.5, 0.5, 1]
    values = {}
    for size in (1, 2, 3):
        for features in itertools.combinations(range(data.n_features), size):
            grid = itertools.product([1, -1], *[levels] * (size - 1))
            values[features] = max(quality(data, X[:, features] @ np.array(w)) for w in grid)
    best = max(values, key=values.__getitem__)
    subset = FSBFS(1, max_size=3, max_candidates=None).fit(data).subsets_[0]
    assert tuple(sorted(subset.features)) == best == tuple(truth.informative)
    assert subset.score > values[best] - 0.01


@pytest.mark.parametrize("average_ties", [False, True])
@pytest.mark.parametrize("name", ["ndcg@5", "map", "pairwise-error"])
@pytest.mark.parametrize("as_csr", [False, True])
def test_sums_are_measures_of_changed_weights(average_ties, name, as_csr):
    data = random_data(3, ties=True, n_features=4)
    X = sparse.csr_matrix(data.X) if as_csr else data.X
    block = Block(X, data.y, data.query_ptr)
    how = dict(measure=name, ties="average" if average_ties else "stable")
    convention = get_convention("standard", how["ties"])
    statistic = CombinationTrials(block, parse_measure(name), convention)
    n_queries = statistic.weight()
    for features, weights in (([0, 2], [1.0, -3.0]), ([1], [0.5])):
        deltas = np.array([[0.5, 1, -0.5, -1], [0.1, 8, -0.1, -8]])
        value, trials = statistic.sums((features, weights), [3, 0], deltas, 2)
        scores = data.X[:, features] @ np.array(weights)
        assert value / n_queries == pytest.approx(quality(data, scores, **how))
        for feature, of_deltas, found in zip([3, 0], deltas, trials, strict=True):
            expected = [quality(data, scores + d * data.X[:, feature], **how) for d in of_deltas]
            np.testing.assert_allclose(found / n_queries, expected, rtol=1e-12)


class TestMemory:
    def test_no_subset_is_measured_or_trained_twice(self, monkeypatch):
        data, _ = make_ranking(60, n_informative=4, n_noise=8, noise=0.4)
        measured, trained = [], []
        extend, train = Ascent.extend, Ascent.train

        def extending(self, node, features):
            measured.extend(frozenset(node.members) | {f} for f in features)
            return extend(self, node, features)

        def training(self, node):
            trained.append(frozenset(node.members))
            return train(self, node)

        monkeypatch.setattr(Ascent, "extend", extending)
        monkeypatch.setattr(Ascent, "train", training)
        selector = FSBFS(None).fit(data)
        assert len(trained) == len(set(trained)) > 20
        assert len(measured) == len(set(measured)) > 200
        assert selector.n_evaluations_ == len(measured) + data.n_features
        assert set(trained) < set(measured)


class TestPartialCorrelations:
    def test_candidates_have_the_largest_partial_correlations(self):
        data, _ = make_ranking(50, n_informative=5, n_redundant=5, n_noise=10, random_state=4)
        counts = np.repeat(data.group_counts, data.group_counts)

        def centered(column):
            sums = np.add.reduceat(column, data.query_ptr[:-1])
            return column - np.repeat(sums, data.group_counts) / counts

        node = Node((3, 7), (0.5, -2.0), (0.1, 0.2))
        new = centered(data.X[:, [3, 7]] @ np.array([0.5, -2.0]))

        def rest(column):
            column = centered(column)
            return column - (column @ new) / (new @ new) * new

        label = rest(data.y)
        others = np.array([f for f in range(data.n_features) if f not in (3, 7)])
        correlations = [np.corrcoef(rest(data.X[:, f]), label)[0, 1] for f in others]
        expected = np.sort(others[np.argsort(-np.abs(correlations))[:6]])
        every = np.ones(data.n_features, dtype=bool)
        correlations = PartialCorrelations(centered_gram(data), every, np.arange(data.n_features))
        everything = np.arange(data.n_features)
        assert correlations.candidates(node, everything, 6) == expected.tolist()
        assert correlations.candidates(node, everything, None) == others.tolist()

    def test_fewer_candidates_take_less_and_lose_little(self):
        data, _ = make_ranking(150, n_informative=5, n_redundant=5, n_noise=20, random_state=4)
        few = FSBFS(1, max_candidates=6).fit(data)
        all_of_them = FSBFS(1, max_candidates=None).fit(data)
        assert few.n_evaluations_ < 0.5 * all_of_them.n_evaluations_
        assert few.subsets_[0].score > all_of_them.subsets_[0].score - 0.01

    def test_multiples_never_meet(self):
        data = random_data(5, n_features=4, n_queries=30)
        shift = np.random.default_rng(0).integers(-3, 3, data.n_queries)[data.query_codes]
        copies = np.column_stack([-2 * data.X[:, 0], data.X[:, 1] + shift, 8 * data.X[:, 2]])
        X = np.column_stack([data.X, copies])
        subsets = FSBFS(None, tol=0).fit(X, data.y, qid=data.qid).subsets_
        assert sorted(f for s in subsets for f in s.features) == list(range(7))
        for subset in subsets:
            kinds = [f % 4 for f in subset.features]
            assert len(kinds) == len(set(kinds))

    def test_one_large_value_in_both_makes_no_multiples(self):
        data = random_data(5, n_features=2, n_queries=30)
        X = data.X / data.X.std(axis=0)
        X[0] = 1e7
        assert np.corrcoef(X.T)[0, 1] > 1 - 1e-9
        assert len(FSBFS(None, tol=0).fit(X, data.y, qid=data.qid).subsets_) == 1


class Promising:
    """Workers whose line searches promise 0.1 more than there is in the end."""

    def __init__(self, *values):
        self.values = list(values)

    def sum(self, method, combination, features, deltas, n_steps):
        value = self.values.pop(0)
        return value, np.full((len(features), 2 * n_steps), value + 0.1)


def test_what_a_line_search_promised_must_be_kept():
    start = Node((0, 1), (1.0, 1.0), (0.5, 0.7))

    def trained(*values, max_changes=5):
        return Ascent(Promising(*values), 1, np.ones(2), 3, 0.01, max_changes).train(start)

    assert trained(0.5) is None  # the second feature is no gain after all
    assert trained(0.6, 0.6) == Node((0, 1), (1.0, 1.0), (0.5, 0.6))
    changed = trained(0.6, 0.65, 0.65)
    assert (changed.weights, changed.values) == ((1.5, 1.0), (0.5, 0.65))
    assert trained(0.6, 0.65, max_changes=1) == changed  # which nobody tried to change again


@st.composite
def rankings(draw):
    """Small data with whatever may go wrong: ties, constants, copies, queries that tell nothing."""
    seed = draw(st.integers(0, 10_000))
    data = random_data(
        seed,
        n_queries=draw(st.integers(2, 8)),
        n_features=draw(st.integers(1, 6)),
        ties=draw(st.booleans()),
    )
    X = data.X.copy()
    if draw(st.booleans()):
        X[:, -1] = data.query_codes  # constant within queries
    if draw(st.booleans()):
        X = np.column_stack([X, X[:, 0]])
    y = data.y.copy()
    y[-1] = 3.0
    qid = data.qid.copy()
    qid[:2] = qid[-1]  # the last query has documents with different labels
    y[0] = 0.0
    return RankingData(X, y, qid)


@given(rankings(), st.sampled_from(["average", "stable"]), st.sampled_from([0, 0.001, 0.05]))
def test_whatever_the_data(data, ties, tol):
    selector = FSBFS(None, ties=ties, tol=tol, patience=2).fit(data)
    features = [f for subset in selector.subsets_ for f in subset.features]
    varies = [
        f
        for f in range(data.n_features)
        if any(np.ptp(data.X[data.qid == q, f]) > 0 for q in data.query_ids)
    ]
    assert sorted(features) == varies  # disjoint, and all there
    assert selector.selected_.tolist() == features
    new = selector.construct(data)
    for number, subset in enumerate(selector.subsets_):
        assert all(weight != 0 for weight in subset.weights)
        members = list(subset.features)
        np.testing.assert_allclose(
            new[:, number], data.X[:, members] @ np.array(subset.weights), rtol=1e-9, atol=1e-12
        )
        assert subset.score == pytest.approx(quality(data, new[:, number], ties=ties), abs=1e-12)
        path = [step.score for step in selector.path_ if step.feature in members]
        assert path[-1] == subset.score
        assert path[0] == pytest.approx(selector.scores_[members[0]])
        assert all(np.diff(path) >= max(tol - 1e-9, 1e-12))
    scores = [
        quality(data, sign * data.X[:, f], ties=ties)
        for f in range(data.n_features)
        for sign in (1, -1)
    ]
    np.testing.assert_allclose(selector.scores_, np.maximum(scores[::2], scores[1::2]))


class TestInvariance:
    def test_order_of_rows_and_features(self):
        data, _ = make_ranking(80, n_informative=4, n_noise=6, noise=0.3, tied=0, random_state=2)
        expected = FSBFS(None).fit(data).subsets_
        rng = np.random.default_rng(0)
        rows, columns = rng.permutation(data.n_rows), rng.permutation(data.n_features)
        shuffled = FSBFS(None).fit(data.X[rows][:, columns], data.y[rows], qid=data.qid[rows])
        for ours, theirs in zip(shuffled.subsets_, expected, strict=True):
            assert tuple(columns[list(ours.features)]) == theirs.features
            assert ours.weights == theirs.weights
            assert ours.score == pytest.approx(theirs.score, abs=1e-12)

    def test_scales_of_features(self):
        data = random_data(1, n_queries=30)
        scales = 2.0 ** np.array([20, -7, 0, 3, -20])
        expected = FSBFS(None).fit(data).subsets_
        scaled = FSBFS(None).fit(data.X * scales, data.y, qid=data.qid).subsets_
        for ours, theirs in zip(scaled, expected, strict=True):
            assert ours.features == theirs.features
            assert ours.score == pytest.approx(theirs.score, abs=1e-12)
            np.testing.assert_array_equal(
                ours.weights * scales[list(ours.features)], theirs.weights
            )


@pytest.fixture(scope="module")
def fitted():
    """A selector of new features, and what it was fitted on."""
    data, _ = make_ranking(60, n_informative=4, n_noise=6, noise=0.3)
    names = [f"f{n}" for n in range(data.n_features)]
    frame = pd.DataFrame(data.X, columns=names)
    selector = FSBFS(2, output="constructed").fit(frame, data.y, qid=data.qid)
    return SimpleNamespace(data=data, frame=frame, selector=selector)


class TestNewFeatures:
    def test_transform(self, fitted):
        new = fitted.selector.transform(fitted.frame)
        assert new.shape == (fitted.data.n_rows, 2)
        np.testing.assert_array_equal(new, fitted.selector.construct(fitted.frame))
        by_csr = fitted.selector.construct(
            RankingData(sparse.csr_matrix(fitted.data.X), fitted.data.y, fitted.data.qid)
        )
        np.testing.assert_allclose(by_csr, new, rtol=1e-12, atol=1e-12)

    def test_names_and_frames(self, fitted):
        assert fitted.selector.get_feature_names_out().tolist() == ["fsbfs0", "fsbfs1"]
        with pytest.raises(ValueError, match="input_features"):
            fitted.selector.get_feature_names_out(["f0"])
        selector = FSBFS(2, output="constructed").set_output(transform="pandas")
        out = selector.fit(fitted.frame, fitted.data.y, qid=fitted.data.qid).transform(fitted.frame)
        assert out.columns.tolist() == ["fsbfs0", "fsbfs1"]
        members = FSBFS(2).set_output(transform="pandas")
        out = members.fit(fitted.frame, fitted.data.y, qid=fitted.data.qid).transform(fitted.frame)
        assert out.columns.tolist() == [f"f{f}" for f in sorted(members.selected_)]

    def test_ranking_data_stays_ranking_data(self, fitted):
        selector = FSBFS(2, output="constructed").fit(fitted.data)
        new = selector.transform(fitted.data)
        assert isinstance(new, RankingData)
        assert new.feature_names.tolist() == ["fsbfs0", "fsbfs1"]
        np.testing.assert_array_equal(new.y, fitted.data.y)
        np.testing.assert_array_equal(new.X, selector.construct(fitted.data))

    def test_selected_are_the_members(self, fitted):
        first, second = fitted.selector.subsets_
        assert fitted.selector.selected_.tolist() == [*first.features, *second.features]
        assert fitted.selector.get_support().sum() == len(first.features) + len(second.features)
        reasons = fitted.selector.reasons()
        assert reasons[0] == f"subset 1, weight {first.weights[0]:.3g}"
        assert reasons[-1] == f"subset 2, weight {second.weights[-1]:.3g}"

    def test_new_features_begin_with_those_of_fewer(self, fitted):
        more = FSBFS(3, output="constructed").fit(fitted.data)
        assert more.subsets_[:2] == fitted.selector.subsets_
        every = FSBFS(None, output="constructed").fit(fitted.data)
        assert len(every.subsets_) >= 3
        as_many = FSBFS(fitted.data.n_features, output="constructed").fit(fitted.data)
        assert as_many.subsets_ == every.subsets_  # fewer than asked for

    def test_wrong_data(self, fitted):
        short = fitted.data.take_features([0, 1])
        with pytest.raises(DataError, match="X has 2 features, but FSBFS is expecting"):
            fitted.selector.transform(short)
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.selector.transform(fitted.frame[["f0", "f1"]])
        names = fitted.frame.columns[::-1]
        other = RankingData(fitted.data.X, fitted.data.y, fitted.data.qid, feature_names=names)
        for rows in (short, other):
            with pytest.raises(DataError, match="feature"):
                fitted.selector.construct(rows)
        X = fitted.data.X.copy()
        X[5, 1] = np.nan
        with pytest.raises(DataError, match="NaN in row 5"):
            fitted.selector.construct(RankingData(X, fitted.data.y, fitted.data.qid))
        with pytest.raises(DataError, match="cannot be converted back"):
            fitted.selector.inverse_transform(np.ones((3, 2)))

    @pytest.mark.slow
    def test_scikit_learn_checks(self):
        check_estimator(with_queries(FSBFS)(1, output="constructed"), on_skip=None)


class TestDegenerateData:
    def test_one_feature(self):
        selector = FSBFS(1).fit([[1.0], [2], [3]], [1, 0, 0], qid=[0, 0, 0])
        assert selector.subsets_ == [((0,), (-1.0,), 1.0)]
        assert (selector.n_evaluations_, selector.n_rounds_) == (1, 0)

    def test_constant_features(self):
        X = np.array([[5.0, 1, 2], [5, 1, 3], [5, 1, 1], [7, 1, 0]])
        y, qid = [0, 1, 0, 1], [0, 0, 0, 1]
        assert FSBFS(None).fit(X, y, qid=qid).selected_.tolist() == [2]
        assert FSBFS(3).fit(X, y, qid=qid).selected_.tolist() == [2, 0, 1]
        nothing = FSBFS(2).fit(X[:, :2], y, qid=qid)
        assert (nothing.subsets_, nothing.selected_.tolist()) == ([], [0, 1])
        with pytest.raises(DataError, match="nothing can be constructed"):
            FSBFS(1, output="constructed").fit(X[:, :2], y, qid=qid)

    def test_numbers_beyond_measure(self):
        for factor in (1e200, 1e-200):
            X = factor * np.array([[1.0, 2], [2, 1], [3, 5]])
            with (
                np.errstate(over="ignore"),
                pytest.raises(DataError, match="scale the features first"),
            ):
                FSBFS(1).fit(X, [0, 1, 0], qid=[0, 0, 0])


def test_interrupted_search_leaves_no_threads_but_those_of_the_pool():
    data, _ = make_ranking(900, n_informative=4, n_noise=6)
    with limit_threads(2):
        FSBFS(1, patience=1).fit(data)
    before = set(threading.enumerate())

    def interrupt(what, done, total):
        if what == "Best-first search" and done == total:
            raise KeyboardInterrupt

    with listen(interrupt), limit_threads(2), pytest.raises(KeyboardInterrupt):
        FSBFS(5).fit(data)
    assert set(threading.enumerate()) <= before


def test_mq2008(mq2008_dir):
    """No published result to compare with: better than the feature that is best in training."""
    train, _, test = open_collection(mq2008_dir).read_fold(0)
    selector = FSBFS(1, output="constructed").fit(train)
    alone = int(selector.scores_.argmax())
    assert selector.subsets_[0].score > selector.scores_[alone] + 0.01
    new = selector.construct(test)[:, 0]
    assert quality(test, new) > quality(test, test.X[:, alone]) + 0.01
