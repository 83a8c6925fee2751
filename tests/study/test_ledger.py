"""The ledger of a study: what it takes, and what it refuses."""

import copy
import json
import math

import pytest

from ranksieve.data import DataError
from ranksieve.io.record_log import checksum
from ranksieve.study.files import Ledger

HEAD = {
    "ranksieve": "1.0",
    "protocol": "5 folds",
    "measures": ["MAP", "NDCG@10"],
    "tune": "MAP",
    "convention": "standard",
    "scale": "none",
    "missing": "none",
    "folds": ["Fold1"],
}
FOLD = {"fold": "Fold1"}
FOLD_RESULT = {
    "fingerprint": "0123",
    "train": 3,
    "vali": 1,
    "test": [7, "q8"],
    "features": ["1", "2", "3"],
    "file_order": {},
}
SELECTION = {"fold": "Fold1", "selector": "gas-e", "parameters": {"c": 0.5}, "seed": None, "k": 2}
SELECTION_RESULT = {"features": [2, 0], "seconds": 0.5}
TRAINING = {
    "fold": "Fold1",
    "ranker": "rankrls",
    "parameters": {},
    "grid": [{"lam": 1.0}],
    "seed": 0,
    "features": [0, 2],
}
TRAINING_RESULT = {
    "parameters": {"lam": 1.0},
    "validation": 0.5,
    "validation_error": 0.01,
    "test": {"MAP": [0.5, 1.0], "NDCG@10": [0.0, 0.25]},
    "seconds": 0.1,
}
CELLS = {
    "fold": (FOLD, FOLD_RESULT),
    "selection": (SELECTION, SELECTION_RESULT),
    "training": (TRAINING, TRAINING_RESULT),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def ledger(path):
    made = Ledger(path, HEAD)
    for cell, result in CELLS.values():
        made.add(cell, result)
    return made


def as_line(record):
    """A line with a checksum that is right, whatever it holds."""
    body = json.dumps(record).encode()[:-1]
    return body + f', "checksum": "{checksum(body)}"}}\n'.encode()


def rewritten(path, changed):
    """Write records of a ledger, each with the right checksum."""
    path.write_bytes(b"".join(map(as_line, changed)))


def records(path):
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [{name: v for name, v in record.items() if name != "checksum"} for record in found]


def test_what_was_added_is_there_again(ledger, path):
    again = Ledger(path, HEAD)
    assert again.folds() == {"Fold1": FOLD_RESULT}
    assert again[SELECTION] == SELECTION_RESULT
    assert again[dict(reversed(TRAINING.items()))] == TRAINING_RESULT
    assert len(again) == 3
    rewritten(path, records(path))  # which the tests below rely on
    assert len(Ledger(path, HEAD)) == 3


def test_results_of_other_settings_are_refused(ledger, path):
    with pytest.raises(DataError, match="results with tune 'MAP', not 'NDCG@10'; name another"):
        Ledger(path, HEAD | {"tune": "NDCG@10"})
    assert Ledger(path).head["tune"] == "MAP"  # as it is


def test_a_ledger_without_its_folds_is_not_finished(path):
    Ledger(path, HEAD)
    with pytest.raises(DataError, match="not finished; run the command that started it to resume"):
        Ledger(path).folds()


def test_a_ledger_without_checksums_is_refused(path):
    path.write_text(json.dumps({"format": "ranksieve-study", "version": 1} | HEAD) + "\n")
    with pytest.raises(DataError, match="an older ranksieve, .*; name another directory"):
        Ledger(path, HEAD)


BAD_NUMBERS = [math.nan, math.inf, "0.5", None, [0.5], {}, True, 10**400]
BAD_VALUES = {
    ("fold", "train"): ["3", 0, -1, 2.5, None, True],
    ("fold", "vali"): ["3", 0, -1, 2.5, None, True],
    ("fold", "fingerprint"): [1, None, []],
    ("fold", "test"): [[], [1.5], [None], "ab", {}, [[1]]],
    ("fold", "features"): [[], [1], "ab", None, {}],
    ("fold", "file_order"): [[], None, {"MAP": 1}, {"MAP": [[0.5]]}, {"MAP": [[0.5], ["x"]]}],
    ("selection", "seconds"): [*BAD_NUMBERS, -1.0],
    ("selection", "features"): [[], [0.5], ["0"], [1, 1], [-1], [3], [10**30], "01", {}, None],
    ("training", "seconds"): [*BAD_NUMBERS, -1.0],
    ("training", "validation"): BAD_NUMBERS,
    ("training", "validation_error"): [*BAD_NUMBERS, -0.5],
    ("training", "parameters"): [None, [], "lam", {"lam": math.nan}],
    ("training", "test"): [None, [], {}, {"MAP": [0.5, 1.0]}, "MAP"],
}


@pytest.mark.parametrize(("kind", "name"), BAD_VALUES)
def test_values_that_cannot_be_are_refused_with_their_line(ledger, path, kind, name):
    line = list(CELLS).index(kind) + 1
    whole = records(path)
    for value in BAD_VALUES[kind, name]:
        changed = copy.deepcopy(whole)
        changed[line]["result"][name] = value
        rewritten(path, changed)
        with pytest.raises(DataError, match=rf"ledger.jsonl:{line + 1}: damaged \("):
            Ledger(path, HEAD)
    changed = copy.deepcopy(whole)
    del changed[line]["result"][name]
    rewritten(path, changed)
    with pytest.raises(DataError, match=rf"ledger.jsonl:{line + 1}: damaged \(it should have "):
        Ledger(path, HEAD)


def test_test_values_are_one_number_for_each_query(ledger, path):
    whole = records(path)
    for values in (
        *([0.5], [0.5, 1.0, 0.5], [], [0.5, "1"], [0.5, None], [0.5, math.nan], [0.5, math.inf]),
        *([0.5, -0.1], [0.5, 1.1], [0.5, True], [0.5, [1.0]], "ab", {"0": 1.0}, None, 0.5),
    ):
        changed = copy.deepcopy(whole)
        changed[3]["result"]["test"]["NDCG@10"] = values
        rewritten(path, changed)
        with pytest.raises(DataError, match=r"ledger.jsonl:4: damaged .*NDCG@10"):
            Ledger(path, HEAD)


def test_infinity_as_a_number_is_refused(ledger, path):
    body = path.read_bytes().splitlines()[3].replace(b"0.25", b"1e999")
    body = body[: body.rfind(b', "checksum')]
    line = body + f', "checksum": "{checksum(body)}"}}\n'.encode()
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]) + line)
    with pytest.raises(DataError, match=r"ledger.jsonl:4: damaged .*NDCG@10"):
        Ledger(path, HEAD)


def test_cells_that_cannot_be_are_refused(ledger, path):
    whole = records(path)
    for cell in (
        *(None, [], "Fold1", 3, {}, {"fold": 1}, {"fold": None}, {"cell": "Fold1"}),
        *({"selector": "gas-e"}, {"fold": "Fold1", "selector": "gas-e"}),
        *(SELECTION | {"k": "2"}, SELECTION | {"seed": "0"}, SELECTION | {"parameters": []}),
        *(TRAINING | {"features": [3]}, TRAINING | {"features": []}, TRAINING | {"grid": {}}),
        TRAINING | {"more": 1},
    ):
        changed = copy.deepcopy(whole)
        changed[3]["cell"] = cell
        rewritten(path, changed)
        with pytest.raises(DataError, match=r"ledger.jsonl:4: damaged"):
            Ledger(path, HEAD)


@pytest.mark.parametrize("name", HEAD)
def test_a_head_that_cannot_be_is_refused(ledger, path, name):
    whole = records(path)
    for value in (None, 1, [], {}, [1]):
        changed = copy.deepcopy(whole)
        changed[0][name] = value
        rewritten(path, changed)
        with pytest.raises(DataError, match=rf"ledger.jsonl:1: damaged .*{name}"):
            Ledger(path)
    changed = copy.deepcopy(whole)
    del changed[0][name]
    rewritten(path, changed)
    with pytest.raises(DataError, match=r"ledger.jsonl:1: damaged \(it should have "):
        Ledger(path)


def test_a_fold_that_is_told_of_later_is_checked_too(ledger, path):
    head, fold, *cells = records(path)
    rewritten(path, [head, *cells, fold])
    assert len(Ledger(path, HEAD)) == 3
    fold["result"]["test"].append(9)
    rewritten(path, [head, *cells, fold])
    message = r"ledger.jsonl:4: .*ledger.jsonl:3 does not match it: 2 values of MAP for 3 test"
    with pytest.raises(DataError, match=message):
        Ledger(path, HEAD)


def test_weights_of_test_queries(path):
    ledger = Ledger(path, HEAD)
    told = FOLD_RESULT | {"weights": [0.5, 2.0]}
    ledger.add(FOLD, told)
    assert Ledger(path, HEAD)[FOLD] == told
    whole = records(path)
    for wrong in ([1.0], [1.0, 0.0], [1.0, -1.0], [1.0, "2"], [1, 2], "much", None):
        changed = copy.deepcopy(whole)
        changed[1]["result"]["weights"] = wrong
        rewritten(path, changed)
        with pytest.raises(DataError, match="ledger.jsonl:2: damaged .*weights"):
            Ledger(path, HEAD)


def test_measures_may_value_empty_queries_otherwise(path):
    head = HEAD | {"measures": ["NDCG(empty=3)@10"]}
    ledger = Ledger(path, head)
    ledger.add(FOLD, FOLD_RESULT)
    ledger.add(TRAINING, TRAINING_RESULT | {"test": {"NDCG(empty=3)@10": [3.0, 0.5]}})
    assert len(Ledger(path, head)) == 2
