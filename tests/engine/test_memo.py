"""Sharing of statistics: the same bits, computed once, by one of any number of threads."""

import copy
import gc
import pickle
import threading
import time
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from ranksieve import RankingData, make_ranking
from ranksieve.engine.memo import Memo, shared, sharing
from ranksieve.selectors import FSED, GAS, MMR, ChiSquare, FSMRank, InformationGain
from ranksieve.selectors.filters import ig_chi as dependence
from ranksieve.selectors.registry import SELECTORS
from ranksieve.sums import grades as classes
from ranksieve.sums import importance as statistics
from ranksieve.sums import similarity
from ranksieve.sums.importance import importance_sums
from ranksieve.sums.similarity import Similarity, feature_similarity
from tests.every_method import make_quick

C = SELECTORS["gas-e"].grid["c"]


@pytest.fixture(scope="module")
def data():
    made, _ = make_ranking(
        30, docs_per_query=(2, 12), n_informative=3, n_redundant=2, n_noise=2, n_constant=1
    )
    return made


@pytest.fixture(scope="module")
def common():
    """A memo that all methods share."""
    return Memo()


@pytest.fixture
def started(monkeypatch):
    """How often statistics are started; the data makes one block."""
    counts = Counter()

    def watch(module, function, name):
        def watched(*arguments):
            counts[name] += 1
            return function(*arguments)

        monkeypatch.setattr(module, function.__name__, watched)

    watch(statistics, statistics.rank_by_features, "Importance")
    watch(similarity, similarity.compare_features, "Similarity")

    def totals(workers):
        counts["table"] += 1
        return classes.totals(workers)

    monkeypatch.setattr(dependence, "totals", totals)
    return counts


class Source:
    """Something that statistics are of."""


def counted(function):
    """A shared function, and the list of its calls."""
    calls = []

    @shared
    def watched(source, value=0, *, other=None):
        calls.append(value)
        return function(value)

    return watched, calls


def assert_same(ours, theirs):
    """Equal to the last bit."""
    assert type(ours) is type(theirs)
    if isinstance(ours, np.ndarray) and not ours.dtype.hasobject:
        assert (ours.shape, ours.dtype, ours.tobytes()) == (
            theirs.shape,
            theirs.dtype,
            theirs.tobytes(),
        )
    elif isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif hasattr(ours, "__dict__"):
        assert vars(ours).keys() == vars(theirs).keys()
        for name, value in vars(ours).items():
            assert_same(value, vars(theirs)[name])
    else:
        np.testing.assert_equal(ours, theirs)


class TestSelectors:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", SELECTORS)
    def test_every_method_finds_the_same(self, name, data, common):
        alone = make_quick(name, 4).fit(data)
        for _ in range(2):  # which may compute, or borrow from any other method
            with sharing(common):
                assert_same(make_quick(name, 4).fit(data), alone)

    def test_similarity_is_computed_once_for_all_parameters(self, data, started):
        memo = Memo()
        for c in C:
            with sharing(memo):
                GAS(3, c=c).fit(data)
        assert len(C) == 8
        assert started == {"Importance": 1, "Similarity": 1}
        GAS(3).fit(data)
        assert started == {"Importance": 2, "Similarity": 2}

    def test_methods_share_what_is_the_same(self, data, started):
        with sharing(Memo()):
            GAS(3, importance="map").fit(data)
            MMR(3, importance="map").fit(data)
            FSMRank(3, importance="map").fit(data)  # takes absolute values of what is positive
            assert started == {"Importance": 1, "Similarity": 1}
            GAS(3, importance="loss").fit(data)
            assert started == {"Importance": 2, "Similarity": 1}
            GAS(3, similarity="tau_b").fit(data)
            GAS(3, similarity=Similarity("tau_b", absolute=True)).fit(data)
            assert started == {"Importance": 2, "Similarity": 3}

    def test_tables_are_counted_once_for_each_binning(self, data, started):
        with sharing(Memo()):
            for kind in (InformationGain, ChiSquare, InformationGain):
                kind(3).fit(data)
            assert started == {"table": 1}
            ChiSquare(3, n_bins=5).fit(data)
            ChiSquare(3, binning="width").fit(data)
            assert started == {"table": 3}

    def test_parts_are_told_by_their_queries(self, data, started):
        with sharing(Memo()):
            FSED(3, bandwidth="normal").fit(data)
            FSED(3).fit(data)
            assert started == {"Importance": 1}
            FSED(3, random_state=1).fit(data)
            assert started == {"Importance": 2}
            importance_sums(data, "ndcg@10", queries=np.ones(data.n_queries, dtype=bool))
            assert started == {"Importance": 3}

    def test_a_similarity_that_the_user_computes_is_not_shared(self, data):
        calls = []

        def alike(source):
            calls.append(source)
            return np.eye(source.n_features)

        with sharing(Memo()):
            for _ in range(2):
                GAS(3, similarity=alike).fit(data)
        assert len(calls) == 2

    def test_bad_data_is_told_as_ever(self):
        endless = RankingData([[1.0, 2.0], [np.inf, 1.0]], [0, 1], [1, 1])
        memo = Memo()
        for _ in range(2):
            with sharing(memo), pytest.raises(ValueError, match="infinity in row 1, feature '1'"):
                GAS(1).fit(endless)
        assert memo.costs == []


class TestArguments:
    def test_ways_to_pass_them(self):
        function, calls = counted(lambda value: value)
        source = Source()
        with sharing(Memo()):
            for answer in (
                function(source),
                function(source, 0),
                function(source, value=0),
                function(source=source, other=None, value=0),
            ):
                assert answer == 0
        assert calls == [0]

    @pytest.mark.parametrize(
        "values",
        [
            (1, True, 1.0, "1", None),
            ((1, 2), [1, 2], (1, (2,))),
            (np.array([1, 2]), np.array([[1, 2]]), np.array([1, 2], dtype=np.int32)),
            (np.array([0]), np.array([0.0])),
            (np.array([1.0, 2.0]), np.array([2.0, 1.0]), np.array([0.0]), np.array([-0.0])),
            (np.array([True, False]), np.array([False, True]), (np.array([True, False]),)),
        ],
    )
    def test_values_that_differ(self, values):
        function, calls = counted(repr)
        source = Source()
        with sharing(Memo()):
            for _ in range(2):
                for value in values:
                    assert function(source, copy.deepcopy(value)) == repr(value)
        assert len(calls) == len(values)

    @pytest.mark.parametrize(
        "value",
        [
            len,
            lambda source: 1,
            np.random.RandomState(0),
            {"a": 1},
            np.array([None, "a"], dtype=object),
            (1, [abs]),
        ],
    )
    def test_what_cannot_be_compared_is_not_shared(self, value):
        function, calls = counted(lambda value: 7)
        source, memo = Source(), Memo()
        with sharing(memo) as borrowed:
            assert [function(source, value) for _ in range(2)] == [7, 7]
        assert len(calls) == 2
        assert (memo.costs, borrowed.seconds) == ([], 0.0)

    def test_sources_are_told_by_identity(self, data):
        twin = RankingData(data.X, data.y, data.qid)
        memo = Memo()
        with sharing(memo):
            importance_sums(data, "map")
            importance_sums(twin, "map")
        assert len(memo.costs) == 2

    def test_statistics_are_dropped_with_their_source(self):
        function, calls = counted(lambda value: Source())
        memo = Memo()
        seen = []
        with sharing(memo):
            for _ in range(5):  # each source may get the id of the one before
                source = Source()
                answer = function(source)
                assert function(source) is answer
                seen += [weakref.ref(source), weakref.ref(answer)]
                assert len(memo.costs) == 1
                del source, answer
                gc.collect()
                assert memo.costs == []
        assert len(calls) == 5
        assert all(held() is None for held in seen)

    def test_functions_are_told_apart(self):
        first, _ = counted(lambda value: "first")

        @shared
        def second(source, value=0):
            return "second"

        source = Source()
        with sharing(Memo()):
            assert (first(source), second(source)) == ("first", "second")

    def test_the_function_keeps_its_name_and_errors(self):
        assert importance_sums.__name__ == "importance_sums"
        assert "sums behind" in importance_sums.__doc__
        with sharing(Memo()), pytest.raises(TypeError, match="measure"):
            importance_sums(Source())


class Pair(NamedTuple):
    number: int
    values: np.ndarray


@dataclass
class Holder:
    pair: Pair
    others: list


def test_shared_arrays_are_read_only(data):
    function, _ = counted(lambda value: Holder(Pair(1, np.ones(2)), [(np.ones(2),), np.ones(3)]))
    with sharing(Memo()):
        held = function(Source())
        sums = importance_sums(data, "map")
        alike = feature_similarity(data)
    arrays = [held.pair.values, held.others[0][0], held.others[1], *sums[1:], alike]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array += 1
    assert feature_similarity(data).flags.writeable


class TestContext:
    def test_nothing_is_shared_outside(self):
        function, calls = counted(lambda value: value)
        source, memo = Source(), Memo()
        with sharing(memo):
            function(source)
        with pytest.raises(TypeError), sharing(memo):
            function(source, unknown=1)
        function(source)
        function(source)
        assert len(calls) == 3
        assert len(memo.costs) == 1

    def test_contexts_nest(self):
        function, calls = counted(lambda value: value)
        source, outer, inner = Source(), Memo(), Memo()
        with sharing(outer):
            with sharing(inner):
                function(source)
            function(source)
            function(source)
        assert len(calls) == 2
        assert len(outer.costs) == len(inner.costs) == 1

    def test_copies_of_a_memo_are_empty(self, data):
        memo = Memo()
        with sharing(memo):
            importance_sums(data, "map")
        for twin in (pickle.loads(pickle.dumps(memo)), copy.deepcopy(memo), copy.copy(memo)):
            assert twin.costs == []
            with sharing(twin):
                importance_sums(data, "map")
            assert len(twin.costs) == 1
        assert len(memo.costs) == 1


class Clock:
    """Time that passes when it is told to; ``read`` is called by whoever asks for it."""

    def __init__(self):
        self.now = 0.0
        self.read = lambda: None

    def __call__(self):
        now = self.now
        self.read()
        return now

    def wait(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr("ranksieve.engine.memo.work_seconds", made)
    return made


class TestSeconds:
    def test_what_was_there_is_saved(self, clock):
        function, _ = counted(clock.wait)
        source, memo = Source(), Memo()
        with sharing(memo) as first:
            function(source, 0.5)
        [(name, seconds)] = memo.costs
        assert name.startswith("tests.engine.test_memo.counted.")
        assert seconds == 0.5
        assert first.seconds == 0
        with sharing(memo) as second:
            function(source, 0.5)
            function(source, 0.5)
        assert second.seconds == 1.0

    def test_time_that_was_waited_is_not_saved(self, clock):
        begun, asked = threading.Event(), threading.Event()
        source, memo = Source(), Memo()

        def work(value):
            clock.wait(0.25)
            begun.set()
            asked.wait()
            clock.wait(0.5)

        function, calls = counted(work)

        def compute():
            with sharing(memo) as borrowed:
                function(source)
            return borrowed.seconds

        with ThreadPoolExecutor(1) as pool:
            computing = pool.submit(compute)
            begun.wait()
            clock.read = asked.set  # as soon as the time of asking is known
            with sharing(memo) as borrowed:
                function(source)
        [(_, seconds)] = memo.costs
        assert len(calls) == 1
        assert computing.result() == 0
        assert seconds == 0.75
        assert borrowed.seconds == 0.25

    def test_what_a_statistic_borrows_belongs_to_its_price(self, clock):
        inner, _ = counted(lambda value: clock.wait(0.5))

        @shared
        def outer(source):
            clock.wait(0.25)
            inner(source)

        source, memo = Source(), Memo()
        with sharing(memo):
            inner(source)
        with sharing(memo) as computing:
            outer(source)
        with sharing(memo) as borrowing:
            outer(source)
        assert [seconds for _, seconds in memo.costs] == [0.5, 0.75]
        assert computing.seconds == 0.5
        assert borrowing.seconds == 0.75


class TestThreads:
    def test_one_computes_and_the_others_wait(self):
        function, calls = counted(lambda value: (time.sleep(0.05), np.arange(value))[1])
        source, memo, ready = Source(), Memo(), threading.Barrier(8)

        def run(_):
            ready.wait()
            with sharing(memo):
                return function(source, 5)

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(run, range(8)))
        assert calls == [5]
        assert all(answer is answers[0] for answer in answers)

    def test_an_error_goes_to_all_and_is_forgotten(self, clock):
        fails, asking, all_asked = [True], set(), threading.Event()

        def note_who_asks():
            asking.add(threading.get_ident())
            if len(asking) == 4:
                all_asked.set()

        clock.read = note_who_asks

        def work(value):
            all_asked.wait()
            if fails[0]:
                raise OSError("no luck")
            return 3

        function, calls = counted(work)
        source, memo, ready = Source(), Memo(), threading.Barrier(4)

        def run(_):
            ready.wait()
            with sharing(memo) as borrowed, pytest.raises(OSError, match="no luck"):
                function(source)
            return borrowed.seconds

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(run, range(4))) == [0.0] * 4
        assert len(calls) == 1
        assert memo.costs == []
        fails[0] = False
        with sharing(memo):
            assert function(source) == function(source) == 3
        assert len(calls) == 2
