"""What the help of each command says, and whether it is true of this command."""

import re

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
    assert ("selectors refuse them" in told) == (name in ("select", "compare", "recommend"))


def test_who_chooses_and_who_tests_a_recommendation(help_of):
    text = help_of("recommend")
    assert "one in five" not in text
    assert "the training queries choose, part by part" in told_of(text, "--vali")
    assert "if the split has no validation queries" in told_of(text, "--folds")
    assert "one in five training queries" in told_of(help_of("compare"), "--vali")


def test_the_limits_of_a_level_are_those_that_are_checked(help_of):
    assert "above 0.5 and below 1" in told_of(help_of("recommend"), "--level")
    assert "x>=0.5" not in help_of("recommend")


def test_the_number_of_features_of_a_model(help_of):
    for name in ("predict", "export"):
        assert "on which the model was trained" in told_of(help_of(name), "--n-features")
    assert "that of the --selection" in told_of(help_of("train"), "--n-features")
    assert "the largest index in it" in told_of(help_of("select"), "--n-features")
