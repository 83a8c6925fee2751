"""Every benchmark and contender, at a size that takes no time."""

import json
import sys
import tempfile
from io import StringIO

import numpy as np
import pytest
import sklearn
from benchmarks import __main__ as program
from benchmarks import harness
from rich.console import Console

from ranksieve import RankingData, limit_threads, make_ranking, write_letor

pytestmark = pytest.mark.slow

PEERS = ("fastcan", "ranx", "torch")  # those that the tests do not need otherwise
MODULES = {name: harness.load(name) for name in harness.available()}


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """Five files with the layout and the features of MQ2008."""
    directory = tmp_path_factory.mktemp("data")
    (directory / "MQ2008").mkdir()
    data, _ = make_ranking(25, docs_per_query=6, n_informative=6, n_noise=40)
    data = RankingData(data.X, np.minimum(data.y, 2), data.qid)
    for part in range(5):
        queries = data.take_queries(range(5 * part, 5 * part + 5))
        write_letor(queries, directory / "MQ2008" / f"S{part + 1}.txt")
    return directory


@pytest.fixture(autouse=True)
def _small_world(collection, tmp_path, monkeypatch):
    monkeypatch.setenv("RANKSIEVE_DATA", str(collection))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with limit_threads(1), sklearn.config_context():
        yield


def tiny(module):
    assert set(module.TINY) <= set(module.PARAMETERS)
    return module.PARAMETERS | module.TINY


@pytest.mark.parametrize(
    ("name", "contender"),
    [
        (name, contender)
        for name, m in MODULES.items()
        for contender in getattr(m, "CONTENDERS", ())
    ],
)
def test_contenders(name, contender):
    try:
        found = harness.measure(name, contender, tiny(MODULES[name]), repeats=1)
    except ModuleNotFoundError as missing:
        if missing.name not in PEERS:
            raise
        pytest.skip(f"needs {missing.name}")
    assert found["seconds"] > 0
    assert found["facts"]
    json.dumps(found)


@pytest.mark.parametrize("name", [name for name, m in MODULES.items() if hasattr(m, "run")])
def test_tables(name):
    shown = StringIO()
    Console(file=shown, width=200).print(MODULES[name].run(**tiny(MODULES[name])))
    assert len(shown.getvalue().splitlines()) > 3


def test_every_benchmark_is_one_or_the_other():
    assert len(MODULES) > 15
    for module in MODULES.values():
        assert hasattr(module, "run") != hasattr(module, "CONTENDERS")


def test_the_list_names_all(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks"])
    program.main()
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == list(MODULES)


def test_a_peer_that_is_not_installed_is_left_out(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)

    def in_child(name, contender, *others):
        program._child(json.dumps([name, contender, *others]))
        return json.loads(capsys.readouterr().out)

    monkeypatch.setattr(harness, "_in_child", in_child)
    harness.compare(
        "gradient_rankers", tiny(MODULES["gradient_rankers"]), n_threads=1, rounds=1, repeats=1
    )
    said = capsys.readouterr()
    assert "left out: torch is not installed" in said.err
    assert "ranksieve" in said.out
    assert "PyTorch, loop" not in said.out
