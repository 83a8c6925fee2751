"""What the help of each command says, whether it is true, and what commands import."""

import re
import subprocess
import sys

import pytest

from ranksieve.cli import app

NAMES = [command.name or command.callback.__name__ for command in app.registered_commands]


@pytest.fixture
def help_of(run, monkeypatch):
    """The help of a command as one line."""
    monkeypatch.setenv("COLUMNS", "200")

    def show(name):
        status, text, _ = run(name, "--help")
        assert status == 0
        return " ".join(text.split()).replace("- ", "-")  # broken words

    return show


def told_of(text, option):
    """What a help says of one option."""
    return re.search(rf"{option} [A-Z].*?(?= --[a-z-]+ |$)", text)[0]


def test_all_commands_are_looked_at():
    assert {"recommend", "check", "compare", "select", "train", "predict"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_arguments_have_no_types_of_python(help_of, name):
    text = help_of(name)
    assert "Usage: ranksieve" in text
    assert not re.search(r"list\[|Path\b|<path>|<str>", text)


@pytest.mark.parametrize("name", NAMES)
def test_a_treatment_is_recorded_only_in_what_the_command_takes(help_of, name):
    text = help_of(name)
    if "--missing POLICY" not in text:
        return
    told = told_of(text, "--missing")
    assert ("recorded in the --selection" in told) == ("--selection FILE" in text)
    assert ("training data of the model" in told) == (name == "predict")
    assert ("Default: keep." in told) == (name not in ("train", "predict", "convert"))


def test_who_chooses_and_who_tests_a_recommendation(help_of):
    text = help_of("recommend")
    assert "one in five" not in text
    assert "choose and judge as the training queries do" in told_of(text, "--vali")
    assert "no part in anything but a test" in told_of(text, "--test")
    assert "each part judges features that the others have chosen" in told_of(text, "--folds")
    assert "--rule" not in text
    assert "one in five training queries" in told_of(help_of("compare"), "--vali")


def test_the_limits_of_a_level_are_those_that_are_checked(help_of):
    assert "above 0.5 and below 1" in told_of(help_of("recommend"), "--level")
    assert "x>=0.5" not in help_of("recommend")


def test_the_number_of_features_of_a_model(help_of):
    for name in ("predict", "export"):
        assert "on which the model was trained" in told_of(help_of(name), "--n-features")
    assert "that of the --selection" in told_of(help_of("train"), "--n-features")
    assert "the largest index in it" in told_of(help_of("select"), "--n-features")


# Commands in one process, one after the other, and what none of them has imported until then.
IMPORTS = """
import sys
from ranksieve.cli import main

def run(*command, without):
    try:
        main(list(command))
    except SystemExit as end:
        assert not end.code, end.code
    assert not set(without) & set(sys.modules), (command, set(without) & set(sys.modules))

finders = list(sys.meta_path)
heavy = ("numpy", "scipy", "numba", "sklearn", "pyarrow", "rich", "matplotlib")
run("--help", without=heavy)
run("select", "--help", without=heavy)
run("convert", "a.txt", "b.txt", without=("sklearn",))
run("select", "--methods", without=("lightgbm", "xgboost", "matplotlib", "jinja2"))
few = "--selectors top --rankers rankrls --ks 2 --protocol kfold:3 --seeds 1 --no-figures"
others = ("ranksieve.recommendation", "ranksieve.reproduction", "lightgbm")
run("compare", *few.split(), "--no-baselines", "--out", "study", without=others)
assert sys.modules["sklearn.feature_selection"].SelectKBest  # as it is for everybody
added = [type(finder).__module__ for finder in sys.meta_path if finder not in finders]
assert not [name for name in added if name.startswith("ranksieve")], added
"""


@pytest.mark.slow
def test_commands_import_plainly_and_only_what_they_need(tmp_path):
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n0 qid:1 1:3\n")
    command = [sys.executable, "-c", IMPORTS]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "b.txt").is_file()


# An interrupt at the first import of the command line, as from Ctrl-C in the first moment.
INTERRUPTED = """
import runpy, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "ranksieve.cli.data":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
sys.argv = ["ranksieve", "compare"]
runpy.run_module("ranksieve", run_name="__main__")
"""


@pytest.mark.slow
def test_an_interrupt_while_the_program_is_imported_shows_no_traceback():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
