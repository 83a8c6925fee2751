"""Models of other libraries are tried in a second process."""

import multiprocessing
import os
import subprocess
import sys

import pytest

from ranksieve import DataError, load_model, make_ranking
from ranksieve.rankers import LambdaMART
from ranksieve.rankers.libraries import model_checks, trial

DATA, _ = make_ranking(20, n_informative=2, n_redundant=0, n_noise=1)


@pytest.fixture(scope="module")
def text():
    return LambdaMART(2, min_child_samples=5).fit(DATA).booster_.model_to_string()


@pytest.fixture
def no_process():
    """No further process can be started."""
    trial._trial.end()
    multiprocessing.set_executable(os.devnull)
    yield
    multiprocessing.set_executable(sys.executable)


def test_a_crash_is_an_error(text, monkeypatch):
    monkeypatch.setattr(model_checks, "check_text", lambda text: None)
    wrong = text.replace("objective=lambdarank", "objective=")
    with pytest.raises(DataError, match=r"a second process that tried it crashed \(SIG"):
        model_checks.load_booster(wrong)
    assert model_checks.load_booster(text).num_trees() == 2  # in a new process


def test_what_never_comes_back_is_an_error(tmp_path, monkeypatch):
    trial._trial.end()
    (tmp_path / "sleep.py").write_text("import time; time.sleep(1000)")
    monkeypatch.setattr(trial, "_PROGRAM", tmp_path / "sleep.py")
    monkeypatch.setattr(trial, "TIME_LIMIT", 0.2)
    with pytest.raises(DataError, match="did not finish within 0 s"):
        trial.try_model("lightgbm", b"a model")


def test_a_model_is_tried_once(text, request):
    content = text.encode() + b"\n"
    trial.try_model("lightgbm", content)
    request.getfixturevalue("no_process")
    trial.try_model("lightgbm", content)
    with pytest.raises(DataError, match="no second process can be started to try it"):
        trial.try_model("lightgbm", content + b"\n")


def test_a_model_of_this_process_is_not_tried(no_process, tmp_path):
    ranker = LambdaMART(3, min_child_samples=5).fit(DATA)
    ranker.save_model(tmp_path / "model.json")
    assert (
        load_model(tmp_path / "model.json").predict(DATA).tolist() == ranker.predict(DATA).tolist()
    )


def test_several_scores_are_refused(tmp_path):
    from catboost import CatBoost

    quiet = {"verbose": False, "allow_writing_files": False}
    model = CatBoost({"loss_function": "MultiClass", "iterations": 2, **quiet}).fit(DATA.X, DATA.y)
    path = tmp_path / "model.cbm"
    model.save_model(str(path))
    with pytest.raises(DataError, match="several scores for each row, but a ranker needs one"):
        trial.try_model("catboost", path.read_bytes())


def test_the_process_ends_when_it_is_idle(text, monkeypatch):
    monkeypatch.setattr(trial, "IDLE", 600)
    trial.try_model("lightgbm", text.encode() + b"\n\n\n")
    process = trial._trial._process
    assert process.poll() is None  # it stays for the next model
    monkeypatch.setattr(trial, "IDLE", 0.01)
    trial.try_model("lightgbm", text.encode() + b"\n\n\n\n")
    assert process.wait(60) < 0  # it was killed


def test_the_process_ends_with_the_program(text, tmp_path):
    path = tmp_path / "model.txt"
    path.write_text(text)
    program = (
        "from ranksieve.rankers import load_model; from ranksieve.rankers.libraries import trial;"
        f"load_model({str(path)!r}); print(trial._trial._process.pid)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(found.stdout), 0)
