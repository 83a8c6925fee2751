"""What is compiled is kept; kernels compile also where numba's cache cannot be written."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import ranksieve

PROGRAM = """
import numpy as np
from ranksieve._kernels.rows import score_models
out = np.empty((1, 1))
score_models(np.array([[2.0, 3.0]]), np.array([1]), np.array([[0.5]]), out)
print(out[0, 0])
"""


@pytest.fixture
def installed(tmp_path):
    """Runs a program with a package and a home that nobody can write, not even root."""
    package = tmp_path / "ranksieve"
    compiled = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(ranksieve.__file__).parent, package, ignore=compiled)
    (package / "_kernels" / "__pycache__").write_text("a file where a directory should be")
    unwritable = str(package / "_kernels" / "__pycache__" / "home")
    (tmp_path / "temporary").mkdir()

    def run():
        surroundings = {
            name: value for name, value in os.environ.items() if not name.startswith("NUMBA")
        } | {
            "PYTHONPATH": str(tmp_path),
            "HOME": unwritable,
            "XDG_CACHE_HOME": unwritable,
            "LOCALAPPDATA": unwritable,
            "TMPDIR": str(tmp_path / "temporary"),
            "TEMP": str(tmp_path / "temporary"),
        }
        command = [sys.executable, "-c", PROGRAM]
        return subprocess.run(
            command, env=surroundings, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    return run


def own_directory(tmp_path):
    user = os.getuid() if hasattr(os, "getuid") else 0
    return tmp_path / "temporary" / f"ranksieve-numba-{user}"


@pytest.mark.slow
def test_the_cache_is_among_temporary_files(installed, tmp_path):
    done = installed()
    assert (done.stdout, done.stderr, done.returncode) == ("1.5\n", "", 0)
    assert list(own_directory(tmp_path).rglob("*.nbi"))
    if os.name == "posix":
        assert own_directory(tmp_path).stat().st_mode & 0o077 == 0


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_what_others_can_write_is_not_run(installed, tmp_path):
    own_directory(tmp_path).mkdir()
    own_directory(tmp_path).chmod(0o777)
    done = installed()
    assert (done.stdout, done.returncode) == ("1.5\n", 0)
    assert "set NUMBA_CACHE_DIR" in done.stderr
    assert not list(own_directory(tmp_path).iterdir())


# Kernels that are defined again look for what is compiled in another directory.
WITH_CACHE = f"""
import importlib, os
import numba
from ranksieve._kernels import rows
os.environ["NUMBA_CACHE_DIR"] = directory
numba.config.reload_config()
importlib.reload(rows)
{PROGRAM}
"""


@pytest.fixture
def run_with_cache(start_program):
    """Run the program with its cache in a directory."""

    def run(directory):
        program = start_program(exec, WITH_CACHE, {"directory": str(directory)})
        assert program.wait() == (0, "1.5\n", "")

    return run


def test_what_cannot_be_read_is_compiled_anew(run_with_cache, tmp_path):
    """Such as the index of an older version, which names a class that is gone."""
    run_with_cache(tmp_path)
    version = pickle.dumps(numba.__version__, protocol=-1)
    for suffix, head in ((".nbi", version), (".nbc", b"")):
        files = [path for path in tmp_path.rglob("*") if path.suffix == suffix]
        assert files
        for path in files:
            path.write_bytes(head + b"cranksieve.data\nGone\n.")  # a pickle of ranksieve.data.Gone
        run_with_cache(tmp_path)
        assert any(b"Gone" not in path.read_bytes() for path in files)  # kept for the next process


EVERY_METHOD = """
import warnings
from numba.core import event
from ranksieve import make_ranking
from ranksieve.rankers.registry import RANKERS
from ranksieve.selectors.registry import SELECTORS
from tests.every_method import make_quick

class Listener(event.Listener):
    def on_start(self, started):
        print(started.data["dispatcher"].py_func.__qualname__)
    def on_end(self, ended):
        pass

event.register("numba:compile", Listener())
warnings.simplefilter("ignore")
data, _ = make_ranking(12, n_informative=2, n_redundant=0, n_noise=2)
for name in [*RANKERS, *SELECTORS]:
    make_quick(name).fit(data)
"""


def test_no_kernel_is_compiled_in_every_process_anew(start_program):
    def compile_and_list():
        status, output, errors = start_program(exec, EVERY_METHOD, {}).wait()
        assert status == 0, errors
        return output

    assert compile_and_list() == "" or compile_and_list() == ""


# Modules and names of all functions that numba compiles for one statistic, without its cache.
COMPILE = """
import json
from numba.core import caching, event
from ranksieve import RankingData
from ranksieve.sums.importance import feature_importance

compiled = []
class Listener(event.Listener):
    def on_start(self, started):
        function = started.data["dispatcher"].py_func
        compiled.append((function.__module__, function.__name__))
    def on_end(self, ended):
        pass
event.register("numba:compile", Listener())
caching.FunctionCache.load_overload = caching.FunctionCache.save_overload = lambda *_: None
data = RankingData([[1.0, 9.0], [2.0, 5.0], [3.0, 7.0]], y=[0, 0, 1], qid=[4, 4, 4])
feature_importance(data, "mrr")
print(json.dumps(compiled))
"""


def test_only_what_a_statistic_uses_is_compiled(start_program):
    status, output, errors = start_program(exec, COMPILE, {}).wait()
    assert (status, errors) == (0, "")
    functions = json.loads(output)
    names = [name for module, name in functions if module.startswith("ranksieve")]
    assert {"add_importance", "reciprocal_rank", "sort_descending"} <= set(names)
    assert not {"dcg", "mean_ndcg", "precision_sum", "cascade", "pair_errors"} & set(names)
    assert len(names) == len(set(names)), "a function was compiled for several types"
    # Texts of errors about shapes, and numba's sorting, take longer than the kernel itself.
    assert not [module for module, _ in functions if "unicode" in module or "sort" in module]
