"""Which collection is at hand."""

import numpy as np
import pytest

from ranksieve import make_ranking, reproduction, write_letor
from ranksieve.cli import main
from ranksieve.data import DataError
from ranksieve.reproduction import PAPERS, reproduce
from ranksieve.reproduction.collections import KNOWN, open_at_hand, recognize


def write_collection(directory, n_queries=9, n_noise=3):
    """Write a planted collection of five parts, which no paper knows."""
    directory.mkdir(exist_ok=True)
    for number in range(1, 6):
        data, _ = make_ranking(
            n_queries, n_informative=3, n_redundant=1, n_noise=n_noise, random_state=number
        )
        write_letor(data._replace(qid=data.qid + 100 * number), directory / f"S{number}.txt")
    return directory


def folds_of(directory):
    """Data of the folds of a collection."""
    return [trial.open() for trial in open_at_hand(directory).trials]


def write_like_ohsumed(directory, last=0.5, n_features=45):
    """Write random features and grades as many as OHSUMED has, which is how it is recognized.

    The last value of all is as passed. Rows repeat after a while: formatting them takes long.
    """
    rng = np.random.default_rng(0)
    lengths = np.full(106, 152) + (np.arange(106) < 28)
    qid = np.repeat(np.arange(106), lengths)
    X = rng.integers(0, 101, (1009, n_features)) / 100
    texts = [" ".join(f"{n}:{value}" for n, value in enumerate(row, 1)) for row in X.tolist()]
    row = np.arange(len(qid)) % len(X)
    grades = np.digitize(X[row, 0] + rng.normal(0, 0.5, len(qid)), [1.0, 1.4])
    lines = [f"{grades[n]} qid:{qid[n]} {texts[row[n]]}\n" for n in range(len(qid))]
    lines[-1] = f"{lines[-1].rsplit(':', 1)[0]}:{last}\n"
    directory.mkdir(exist_ok=True)
    for number in range(1, 6):
        part = "".join(
            line for line, query in zip(lines, qid, strict=True) if query % 5 == number % 5
        )
        (directory / f"S{number}.txt").write_text(part)
    return directory


@pytest.mark.parametrize(
    ("sizes", "name", "convention"),
    [
        ((69_623, 1_692, 46), "MQ2007", "letor4"),
        ((69_623, 1_700, 46), "MQ2007", "letor4"),
        ((15_211, 784, 46), "MQ2008", "letor4"),
        ((16_140, 106, 45), "OHSUMED", "letor3"),
        ((16_140, 106, 25), "OHSUMED of LETOR 2", "letor3"),
        ((74_409, 75, 64), "HP2004", "letor3"),
        ((73_834, 75, 64), "NP2004", "letor3"),
        ((74_170, 75, 44), "TD2004", "letor3"),
    ],
)
def test_known_collections(sizes, name, convention):
    known = recognize(*sizes)
    assert (known.name, known.convention) == (name, convention)


@pytest.mark.parametrize(
    "sizes",
    [(15_211, 783, 46), (15_210, 784, 46), (15_211, 784, 45), (74_146, 75, 64), (784, 15_211, 46)],
)
def test_others_are_not_known(sizes):
    assert recognize(*sizes) is None


def test_what_is_published_is_about_known_collections():
    names = {known.name for known in KNOWN} | {"Yahoo! set 2"}  # which has no folds
    for paper in PAPERS.values():
        tables = (paper.on_folds, paper.means, paper.choices, paper.settings, paper.statements)
        for published in (*tables, *paper.best_numbers.values(), paper.conventions):
            assert set(published) <= names


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_what_is_published_is_about_candidates(paper):
    for table in (paper.on_folds, paper.means, paper.choices, paper.settings):
        for methods in table.values():
            known = set(methods) <= set(paper.candidates)
            assert known or table is paper.settings  # which papers share
    for named in (*paper.groups.values(), *paper.unified_ranks.values(), paper.always):
        assert set(named) <= set(paper.candidates)
    assert set(paper.fold_measures) | set(paper.mean_measures) <= set(paper.measures)


def test_mq2008(mq2008_dir):
    at_hand = open_at_hand(mq2008_dir)
    facts = at_hand.facts
    assert (facts.title, facts.known_as, facts.convention) == ("MQ2008", "MQ2008", "letor4")
    assert (facts.n_queries, facts.n_features, len(at_hand.trials)) == (784, 46, 5)
    assert open_at_hand(mq2008_dir, "standard").facts.convention == "standard"


class TestNormalized:
    """Published numbers are about normalized files, which have the same size as others."""

    def test_values_between_0_and_1(self, tmp_path):
        facts = open_at_hand(write_like_ohsumed(tmp_path)).facts
        assert (facts.title, facts.known_as, facts.unnormalized) == ("OHSUMED", "OHSUMED", None)
        assert facts.warning is None

    def test_ohsumed_of_letor_2(self, tmp_path):
        facts = open_at_hand(write_like_ohsumed(tmp_path, n_features=25)).facts
        assert (facts.known_as, facts.n_features) == ("OHSUMED of LETOR 2", 25)

    @pytest.mark.parametrize("last", [1.01, 12, -1])
    def test_others(self, tmp_path, last):
        facts = open_at_hand(write_like_ohsumed(tmp_path, last)).facts
        assert (facts.title, facts.known_as) == ("OHSUMED (not normalized)", None)
        assert (facts.unnormalized, facts.convention) == ("OHSUMED", "letor3")
        assert facts.warning.startswith("This collection has the size of OHSUMED, but values that")

    def test_unknown_collections_may_have_any_values(self, tmp_path):
        facts = open_at_hand(write_collection(tmp_path)).facts
        assert (facts.unnormalized, facts.warning) == (None, None)


class TestUnknown:
    def test_its_name_is_that_of_its_directory(self, tmp_path):
        at_hand = open_at_hand(write_collection(tmp_path / "ours"))
        assert at_hand.facts.as_dict() == {
            "collection": "ours",
            "known_as": None,
            "unnormalized": None,
            "convention": "letor4",
            "ties": "stable",
            "queries": 45,
            "features": 7,
        }

    def test_a_name_alone_makes_nothing_known(self, tmp_path):
        facts = open_at_hand(write_collection(tmp_path / "MQ2008")).facts
        assert (facts.title, facts.known_as) == ("MQ2008", None)

    def test_all_queries_are_tested_once(self, tmp_path):
        folds = folds_of(write_collection(tmp_path))
        tested = [query for fold in folds for query in fold.test.query_ids.tolist()]
        assert len(tested) == len(set(tested)) == 45
        for fold in folds:
            roles = [set(part.query_ids.tolist()) for part in (fold.train, fold.vali, fold.test)]
            assert sum(map(len, roles)) == len(set.union(*roles)) == 45

    def test_other_numbers_of_folds(self, tmp_path):
        data, _ = make_ranking(18, n_informative=1, n_redundant=0, n_noise=1, random_state=0)
        for role, first in (("train", 0), ("test", 9)):
            write_letor(data.take_queries(range(first, first + 9)), tmp_path / f"{role}.txt")
        at_hand = open_at_hand(tmp_path)
        (fold,) = (trial.open() for trial in at_hand.trials)
        assert fold.vali.n_queries + fold.train.n_queries == 9  # a part of those to train on

    def test_a_known_one_with_other_folds_is_not_known(self, mq2008_dir, tmp_path):
        parts = [(mq2008_dir / f"S{number}.txt").read_text() for number in range(1, 6)]
        for role, text in (("train", "".join(parts[:3])), ("vali", parts[3]), ("test", parts[4])):
            (tmp_path / f"{role}.txt").write_text(text)
        facts = open_at_hand(tmp_path).facts
        assert (facts.n_queries, facts.n_features, facts.known_as) == (784, 46, None)


def test_errors(tmp_path):
    with pytest.raises(DataError, match="no known layout"):
        open_at_hand(tmp_path)
    with pytest.raises(ValueError, match="unknown convention 'letor5'"):
        open_at_hand(tmp_path, "letor5")


def test_folds_that_cannot_be_learned_from(tmp_path):
    for number in range(1, 6):
        text = f"1 qid:{number} 1:0.5\n1 qid:{number} 1:1\n"
        (tmp_path / f"S{number}.txt").write_text(text)
    with pytest.raises(DataError, match="no query to train on has documents of different"):
        folds_of(tmp_path)[0].check()


@pytest.mark.parametrize(
    ("paper", "options", "message"),
    [
        ("letor", [], "unknown results 'letor'; choose from greedy-rankrls, fs-scpr, fs-ed, gas"),
        ("greedy-rankrls", [], "no known layout"),
        ("rankers", [], "no known layout"),
        ("greedy-rankrls", ["--method"], "--method works only with reproduce fs-scpr or fs-ed"),
        ("greedy-rankrls", ["--reading"], "--reading works only with reproduce fs-scpr"),
        (
            "greedy-rankrls",
            ["--ranker"],
            "--ranker works only with reproduce fs-ed or gas or rankers",
        ),
        ("rankers", ["--ranker"], "'x' is not in this paper; its rankers are rankrls, ranksvm, "),
        ("fs-scpr", ["--method"], "'x' is not in this paper; its methods are all, gas-e"),
        ("fs-scpr", ["--reading"], "'x' is not in this paper; its readings are literal"),
        ("fs-ed", ["--method"], "'x' is not in this paper; its methods are fs-ed, "),
        ("fs-ed", ["--ranker"], "'x' is not in this paper; its rankers are ranksvm"),
    ],
)
def test_what_a_paper_does_not_have(run, tmp_path, paper, options, message):
    words = [word for name in options for word in (name, "x")]
    status, _, errors = run("reproduce", paper, "--data", tmp_path, *words)
    assert status != 0
    assert message in " ".join(errors.split())


def test_what_a_call_may_get_wrong(tmp_path):
    with pytest.raises(ValueError, match="reading 'closest' is not .*; it has no readings to"):
        reproduce("fs-ed", tmp_path, reading="closest")
    with pytest.raises(ValueError, match="method 'top' is not in this paper; its methods are"):
        reproduce("gas", tmp_path, methods=["top"])
    with pytest.raises(ValueError, match="unknown paper 'fsed'; choose from greedy-rankrls, "):
        reproduce("fsed", tmp_path)
    for paper, what in (("rankers", "ranker"), ("fs-scpr", "method")):
        with pytest.raises(ValueError, match=f"there is no {what} to compare"):
            reproduce(paper, tmp_path, methods=[])


def interrupted(*options):
    """A reproduction that Ctrl-C ends at its first work."""

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    reproduction.reproduce = interrupt
    main(["reproduce", "rankers", "--data", ".", *options])


@pytest.mark.parametrize("out", [None, "kept"])
def test_interrupted_it_says_how_to_go_on(start_program, out):
    status, _, told = start_program(interrupted, *(["--out", out] if out else [])).wait()
    assert status == 130
    assert ("finished work is kept in kept\nrun the same command again" in told) is bool(out)
    assert "Traceback" not in told
