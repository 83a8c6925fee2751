"""Selectors and rankers of other packages: through entry points, and by ``register``."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from ranksieve import make_ranking, write_letor
from ranksieve.base import RankSelector
from ranksieve.registry import Method, Registry
from ranksieve.selectors import GAS
from ranksieve.selectors.registry import make_selector

MODULE = '''
"""Features by their variance, and a ranker that adds them up."""

import numpy as np

from ranksieve.base import RankSelector
from ranksieve.rankers.base import Ranker
from ranksieve.registry import Method
from ranksieve.selectors import GAS  # while ranksieve.selectors looks for what there is


class StableGAS(GAS):
    """GAS under another name."""


class Variance(RankSelector):
    """Largest variance first."""

    methods = (Method("variance", "largest variance", grid={"power": (1, 2)}),)
    _parameter_constraints = {**RankSelector._parameter_constraints, "power": [int]}
    _is_nested = True

    def __init__(self, n_features_to_select=10, *, power=1, progress=True):
        self.n_features_to_select = n_features_to_select
        self.power = power
        self.progress = progress

    def _choose(self, source, choices):
        order = np.argsort(-source.X.var(axis=0) ** self.power, kind="stable")
        return choices.in_order(order.tolist())


class Total(Ranker):
    """Sum of the features."""

    def __init__(self, progress=True):
        self.progress = progress

    def _train(self, source, validation):
        self.coef_ = np.ones(source.n_features)

    def _scores(self, X):
        return X @ self.coef_

    def _learned(self):
        return {"coef": self.coef_.tolist()}

    def _relearn(self, learned):
        self.coef_ = np.array(learned["coef"])
'''

ENTRY_POINTS = """
[ranksieve.selectors]
variance = varied:Variance
gas-again = varied:StableGAS

[ranksieve.rankers]
total = varied:Total
"""


@pytest.fixture
def site(tmp_path):
    """A directory with an installed package that has a selector and a ranker."""
    install(tmp_path / "site", "varied", ENTRY_POINTS)
    (tmp_path / "site" / "varied.py").write_text(textwrap.dedent(MODULE))
    return tmp_path / "site"


def install(directory, name, entry_points):
    """Write what pip writes when it installs a package, but for the package."""
    info = directory / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


# Commands one after the other, as each process takes seconds to begin.
COMMANDS = """
import json, sys
from ranksieve.cli import main
for arguments in json.loads(sys.argv[1]):
    try:
        main(arguments)
    except SystemExit as end:
        if end.code:
            raise
"""


def run(site, *commands):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), *_paths()])}
    texts = json.dumps([[str(argument) for argument in command] for command in commands])
    command = [sys.executable, "-c", COMMANDS, texts]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def _paths():
    return [path for path in [os.environ.get("PYTHONPATH")] if path]


@pytest.mark.slow
def test_what_is_installed_is_known_by_name(site, tmp_path):
    data, _ = make_ranking(30, n_informative=2, n_redundant=0, n_noise=3, random_state=0)
    data = data._replace(X=data.X * [1, 2, 30, 4, 5])
    write_letor(data, tmp_path / "data.txt")

    model, scores = tmp_path / "model.json", tmp_path / "scores.txt"
    options = ["--selectors", "variance", "--rankers", "total", "--ks", "1,2", "--no-figures"]
    done = run(
        site,
        ["select", tmp_path / "data.txt", "--method", "variance", "-k", 2],
        ["select", "--methods"],
        ["train", tmp_path / "data.txt", "--ranker", "total", "--out", model],
        ["compare", tmp_path / "data.txt", *options, "--out", tmp_path / "study"],
        ["predict", model, tmp_path / "data.txt", "--out", scores],
    )
    assert done.returncode == 0, done.stderr
    assert "variance: 2 of 5 features" in done.stdout
    assert "gas-again" in done.stdout
    assert "variance" in (tmp_path / "study" / "report.html").read_text()
    assert "with total" in done.stdout
    np.testing.assert_allclose(np.loadtxt(scores), data.X.sum(axis=1), rtol=1e-6)


def test_without_the_package_its_names_are_unknown():
    with pytest.raises(ValueError, match="unknown method 'variance'"):
        make_selector("variance", 2)


UNUSABLE = """
[ranksieve.selectors]
broken = nowhere:Nothing
taken = twice:Twice
gas-e = ranksieve.selectors.baselines:RandomSelector
"""


@pytest.mark.slow
def test_a_package_that_cannot_be_used_is_named_and_harms_nobody(tmp_path):
    install(tmp_path, "unusable", UNUSABLE)
    (tmp_path / "twice.py").write_text(
        "from ranksieve.base import RankSelector\n"
        "from ranksieve.registry import Method\n"
        "class Twice(RankSelector):\n"
        "    methods = (Method('gas-e', 'not GAS'),)\n"
    )
    done = run(tmp_path, ["select", "--demo", "--method", "gas-e", "-k", 2])
    assert done.returncode == 0, done.stderr
    assert "gas-e: 2 of 43 features" in done.stdout
    assert "No module named 'nowhere'" in done.stderr
    assert "'gas-e' is registered twice" in done.stderr
    # The third is another name for a class that declares its names itself, and no error.
    assert done.stderr.count("which the package unusable adds to ranksieve.selectors") == 2
    assert done.stderr.count("repair or uninstall the package") == 2


class First(RankSelector):
    """The first features."""

    def __init__(self, n_features_to_select=10, *, progress=True):
        self.n_features_to_select = n_features_to_select
        self.progress = progress

    def _choose(self, source, choices):
        return choices.in_order(range(source.n_features))


def test_a_script_registers_its_own():
    registry = Registry("method", "ranksieve.selectors")
    assert registry.register(First, Method("first", "the first features")) is First
    data, _ = make_ranking(5, n_informative=2, n_redundant=0, n_noise=3)
    selector = registry.make("first", n_features_to_select=2).fit(data)
    assert selector.selected_.tolist() == [0, 1]
    assert registry["first"].family == "other packages"
    assert registry.classes["First"] is First


def test_names_are_taken_once():
    registry = Registry("method", "ranksieve.selectors")
    with pytest.raises(ValueError, match="'gas-e' is registered twice: by ranksieve.selectors"):
        registry.register(First, Method("gas-e", "not GAS"))
    assert registry.register(GAS) is GAS  # again is no harm
    with pytest.raises(ValueError, match="First declares no methods: pass Method"):
        registry.register(First)
