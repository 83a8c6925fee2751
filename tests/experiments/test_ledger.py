"""The ledger: what it takes, and what it refuses. Its file is tested in test_record_log.py."""

import copy
import json
import math

import pytest
from msgspec.structs import replace

from ranksieve._version import __version__
from ranksieve.data import DataError
from ranksieve.experiments import Facts, Head, Ledger, Selected, Trained
from ranksieve.experiments.cells import DescribeKey, SelectKey, TrainKey
from ranksieve.experiments.ledger import TrialFacts, TrialKey
from ranksieve.io.record_log import checksum

HEAD = Head(
    purpose="study",
    protocol="5 folds",
    measures=["MAP", "NDCG@10"],
    tune="MAP",
    convention="standard",
    trials=["Fold1"],
)
TRIAL = TrialFacts("0123", n_features=3, train=3, vali=1, judged={"test": 2})
FACTS = Facts(["1", "2", "3"], [7, "q8"], [0.5, 2.0], {"MAP": ([0.5, 0.2], [0.4, 0.0])}, False)
TRAINED = Trained(
    {"lam": 1.0}, 0.5, 0.01, {"test": {"MAP": [0.5, 1.0], "NDCG@10": [0.0, 0.25]}}, 0.1
)
CELLS = {
    "trial": (TrialKey("Fold1"), TRIAL),
    "describe": (DescribeKey("Fold1"), FACTS),
    "select": (SelectKey("Fold1", "gas-e", {"c": 0.5}, None, 2), Selected([2, 0], 0.5)),
    "train": (TrainKey("Fold1", "rankrls", {}, [{"lam": 1.0}], 0, [0, 2]), TRAINED),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def ledger(path):
    made = Ledger(path, HEAD)
    for key, result in CELLS.values():
        made.add(key, result)
    return made


def as_line(record):
    """A line with a checksum that is right, whatever it holds."""
    body = json.dumps(record).encode()[:-1]
    return body + f', "checksum": "{checksum(body)}"}}\n'.encode()


def rewrite(path, records):
    """Write records of a ledger, each with the right checksum."""
    path.write_bytes(b"".join(map(as_line, records)))


def records(path):
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [{name: v for name, v in record.items() if name != "checksum"} for record in found]


def test_what_was_added_is_there_again(ledger, path):
    for again in (ledger, Ledger(path, HEAD), Ledger(path)):
        assert again.settings == HEAD
        assert len(again) == 4
        for key, result in CELLS.values():
            assert key in again
            assert again[key] == result
    # The order of parameters is nothing, and equal numbers of two types are not the same.
    keys = [SelectKey("A", "s", own, None, 1) for own in ({"a": 1, "b": 2}, {"b": 2, "a": 1.0})]
    ledger.add(keys[0], Selected([0], 0.1 + 0.2))
    swapped = SelectKey("A", "s", {"b": 2, "a": 1}, None, 1)
    assert Ledger(path).find(swapped).seconds == 0.1 + 0.2
    assert Ledger(path).find(keys[1]) is None
    with pytest.raises(DataError, match="not finished; run the command that started it to resume"):
        Ledger(path)[keys[1]]
    rewrite(path, records(path))  # which the tests below rely on
    assert len(Ledger(path, HEAD)) == 5


# Other settings and formats.


@pytest.mark.parametrize(
    ("name", "value"), [("tune", "NDCG@10"), ("purpose", "recommendation"), ("trials", ["Fold2"])]
)
def test_results_of_other_settings_are_refused(ledger, path, name, value):
    message = f"jsonl:1: these are results with {name} .*, not .*; name another directory, or use"
    with pytest.raises(DataError, match=message):
        Ledger(path, replace(HEAD, **{name: value}))


def test_a_ledger_without_work_takes_other_settings(path):
    first = Ledger(path, HEAD)
    for name in ("trial", "describe"):
        first.add(*CELLS[name])
    other = replace(HEAD, missing="query-median")
    assert len(Ledger(path, other)) == 0
    assert Ledger(path).settings == other
    Ledger(path, other).add(*CELLS["select"])
    with pytest.raises(DataError, match="these are results with missing"):
        Ledger(path, HEAD)
    assert len(Ledger(path)) == 1


def test_results_of_another_version_can_only_be_read(ledger, path):
    first, *others = records(path)
    rewrite(path, [first | {"ranksieve": "0.0.7"}, *others])
    with pytest.raises(DataError, match=rf"results with ranksieve '0\.0\.7', not '{__version__}'"):
        Ledger(path, HEAD)
    assert len(Ledger(path)) == 4


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ('"ranksieve-ledger", "version": 0', "an older ranksieve, in format 0 instead of 1"),
        ('"ranksieve-ledger", "version": 2', "a newer ranksieve, in format 2 instead of 1"),
        ('"ranksieve-ledger", "version": null', "a newer ranksieve, in format None"),
        ('"ranksieve-study", "version": 2', "an older ranksieve, in format ranksieve-study"),
        ('"ranksieve-recommendation", "version": 1', "an older ranksieve, in format ranksieve-r"),
        ('"ranksieve-reproduction", "version": 1', "an older ranksieve, in format ranksieve-r"),
    ],
)
def test_other_formats_are_left_alone(path, first, message):
    text = f'{{"format": {first}}}\n{{"cell": 1, "resu'
    path.write_text(text)
    with pytest.raises(DataError, match=f"jsonl:1: written by {message}.*; name another directory"):
        Ledger(path, HEAD)
    assert path.read_text() == text


# Lies: lines with the right checksum.

BAD_NUMBERS = [math.nan, math.inf, "0.5", [0.5], {}, True, 10**400]
BAD_VALUES = {
    ("trial", "train"): ["3", 0, -1, 2.5, None, True],
    ("trial", "vali"): ["3", -1, 2.5, None, True],
    ("trial", "n_features"): ["3", 0, 2, None],
    ("trial", "fingerprint"): [1, None, []],
    ("trial", "judged"): [None, [], {"test": -1}, {"test": 3}, {"test": "2"}, {"other": 2}, {}],
    ("describe", "queries"): [[], [1.5], [None], "ab", {}, [[1]], [1], [1, 2, 3]],
    ("describe", "features"): [[], [1], "ab", None, {}, ["1"], ["1", "2", "3", "4"]],
    ("describe", "weights"): [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, "2"], "much", [1.0, math.inf]],
    ("describe", "has_missing"): [0, None, "no"],
    ("describe", "file_order"): [
        *([], None, {"MAP": 1}, {"MAP": [[0.5, 0.5]]}, {"MAP": [[0.5, 0.5], ["x", 0.5]]}),
        *({"MAP": [[0.5, 0.5], [0.5]]}, {"MAP": [[0.5, 0.5], [0.5, 1.5]]}),
    ],
    ("select", "seconds"): [*BAD_NUMBERS, None, -1.0],
    ("select", "features"): [[], [0.5], ["0"], [1, 1], [-1], [3], [10**30], "01", {}, None],
    ("train", "seconds"): [*BAD_NUMBERS, None, -1.0],
    ("train", "validation"): BAD_NUMBERS,
    ("train", "validation_error"): [*BAD_NUMBERS, -0.5],
    ("train", "parameters"): [None, [], "lam", {"lam": math.nan}, {"lam": 10**400}],
    ("train", "values"): [
        *(None, [], {}, {"MAP": [0.5, 1.0]}, {"test": {"MAP": [0.5, 1.0]}}, "MAP"),
        {"other": {"MAP": [0.5, 1.0], "NDCG@10": [0.5, 1.0]}},
        *(
            {"test": {"MAP": [0.5, 1.0], "NDCG@10": values}}
            for values in (
                *([0.5], [0.5, 1.0, 0.5], [], [0.5, "1"], [0.5, None], [0.5, math.nan], 0.5),
                *([0.5, math.inf], [0.5, -0.1], [0.5, 1.1], [0.5, True], [0.5, [1.0]], "ab", None),
            )
        ),
    ],
}


@pytest.mark.parametrize(("kind", "name"), BAD_VALUES)
def test_values_that_cannot_be_are_refused_with_their_line(ledger, path, kind, name):
    line = list(CELLS).index(kind) + 1
    whole = records(path)
    # What does not fit is found at the first line that it does not fit.
    place = rf"ledger.jsonl:[{line + 1}-5]" if kind == "trial" else f"ledger.jsonl:{line + 1}"
    for value in BAD_VALUES[kind, name]:
        changed = copy.deepcopy(whole)
        changed[line]["result"][name] = value
        rewrite(path, changed)
        with pytest.raises(DataError, match=rf"{place}: damaged \("):
            Ledger(path, HEAD)
    changed = copy.deepcopy(whole)
    del changed[line]["result"][name]
    rewrite(path, changed)
    with pytest.raises(DataError, match=rf"ledger.jsonl:{line + 1}: damaged \('{name}' is missing"):
        Ledger(path, HEAD)


def test_infinity_as_a_number_is_refused(ledger, path):
    *lines, last = path.read_bytes().splitlines(keepends=True)
    body = last.replace(b"0.25", b"1e999").rpartition(b', "checksum')[0]
    path.write_bytes(b"".join(lines) + body + f', "checksum": "{checksum(body)}"}}\n'.encode())
    with pytest.raises(DataError, match=r"ledger.jsonl:5: damaged"):
        Ledger(path, HEAD)


def test_cells_that_cannot_be_are_refused(ledger, path):
    whole = records(path)
    select, train = whole[3]["cell"], whole[4]["cell"]
    for cell in (
        *(None, [], "Fold1", 3, {}, {"kind": "trial"}, {"kind": "trial", "trial": None}),
        *({"trial": "Fold1"}, {"kind": "cell", "trial": "Fold1"}, select | {"kind": "train"}),
        *(select | {"k": "2"}, select | {"k": 0}, select | {"seed": "0"}, select | {"seed": -1}),
        *(select | {"parameters": []}, {"kind": "select", "trial": "Fold1"}, train | {"grid": {}}),
        *(train | {"features": [3]}, train | {"features": [1, 1]}, train | {"more": 1}),
    ):
        changed = copy.deepcopy(whole)
        changed[4]["cell"] = cell
        rewrite(path, changed)
        with pytest.raises(DataError, match=r"ledger.jsonl:5: damaged"):
            Ledger(path, HEAD)


@pytest.mark.parametrize("name", HEAD.__struct_fields__)
def test_a_head_that_cannot_be_is_refused(ledger, path, name):
    first, *others = records(path)
    for value in (None, 1, {}, [1]):
        rewrite(path, [first | {name: value}, *others])
        with pytest.raises(DataError, match=rf"ledger.jsonl:1: damaged .*{name}"):
            Ledger(path)
    rewrite(path, [{key: value for key, value in first.items() if key != name}, *others])
    with pytest.raises(DataError, match=rf"ledger.jsonl:1: damaged \('{name}' is missing"):
        Ledger(path)


def test_a_trial_that_is_told_of_later_is_checked_too(ledger, path):
    head, trial, *cells = records(path)
    rewrite(path, [head, *cells, trial])  # the line was lost, and written again
    assert len(Ledger(path, HEAD)) == 4
    trial["result"]["judged"] = {"test": 3}
    rewrite(path, [head, *cells[1:], trial])
    message = r"ledger.jsonl:4: .*ledger.jsonl:3 does not match it: 2 values of MAP for 3 test"
    with pytest.raises(DataError, match=message):
        Ledger(path, HEAD)


def test_measures_may_value_empty_queries_otherwise(path):
    head = replace(HEAD, measures=["NDCG(empty=3)@10"])
    ledger = Ledger(path, head)
    ledger.add(*CELLS["trial"])
    result = replace(TRAINED, values={"test": {"NDCG(empty=3)@10": [3.0, 0.5]}})
    ledger.add(CELLS["train"][0], result)
    assert Ledger(path, head)[CELLS["train"][0]] == result


def test_what_cannot_be_read_back_is_not_written(path):
    ledger = Ledger(path, HEAD)
    before = path.read_bytes()
    for features, seconds in (([1, 1], 0.5), ([], 0.5), ([1], math.nan), ([1], math.inf)):
        with pytest.raises(DataError, match="ledger.jsonl: a result cannot be stored"):
            ledger.add(CELLS["select"][0], Selected(features, seconds))
    assert path.read_bytes() == before
