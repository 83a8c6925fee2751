"""Kernels compile in a second process while the first one reads, if nothing is compiled."""

import json
import os
import subprocess
import sys

import pytest

# Works that say that they ran, one of which fails; with an empty cache, for no method, for a
# method of somebody else, with nothing else to do meanwhile, and once something is compiled.
PROGRAM = """
import json, os
from ranksieve.cli.quick_start import rehearse
from ranksieve.selectors.registry import SELECTORS

class Others:
    is_ours = False

ours = SELECTORS["top"]
(here / "cache").mkdir()
os.environ["NUMBA_CACHE_DIR"] = str(here / "cache")

def ran(method, name, fails=False, is_busy=True):
    def work(data):
        (here / name).write_text(f"{data.n_rows}")
        print("not to be seen")
        assert not fails
    rehearse(work, method, is_busy=is_busy)()
    return (here / name).exists()

found = [
    ran(ours, "first"),
    ran(None, "failing", fails=True),
    ran(ours, "nothing else to do", is_busy=False),
    ran(Others, "of users"),
]
(here / "cache" / "kernel.nbi").touch()
found.append(ran(ours, "again"))
print(json.dumps(found))
"""


# The command fails while the second process works.
FAILING = """
import os, sys, time
from pathlib import Path
from ranksieve.cli.quick_start import rehearse

here = Path(sys.argv[1])

def work(data):
    (here / "part").write_text(str(os.getpid()))
    (here / "part").rename(here / "process")
    time.sleep(600)

rehearse(work)
while not (here / "process").exists():
    time.sleep(0.01)
sys.exit("failed")
"""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, processes are not forked"),
    pytest.mark.skipif(
        not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
        reason="needs two cores",
    ),
]


def test_only_the_first_command_has_one(start_program, tmp_path):
    status, output, errors = start_program(exec, PROGRAM, {"here": tmp_path}).wait()
    assert (status, errors) == (0, "")
    assert json.loads(output) == [True, True, False, False, False]


def test_it_ends_with_a_command_that_fails(tmp_path):
    (tmp_path / "cache").mkdir()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", FAILING, tmp_path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "failed\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "process").read_text()), 0)


# Two methods that weigh importance against similarity or not, without files to read.
DEMO = """
import json, os
from contextlib import suppress
from ranksieve.cli.selection import _rehearse
from ranksieve.selectors.registry import SELECTORS

found = []
for name in ("top", "gas-e"):
    method = SELECTORS[name]
    _rehearse(method, method.make(), {}, is_reading=False)()
    with suppress(ChildProcessError):  # there is no second process
        os.wait()
    found.append([any(here.glob(f"**/*{kernel}*.nbi")) for kernel in ("similarity", "importance")])
print(json.dumps(found))
"""


def test_without_files_it_compiles_what_the_first_needs_last(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    program = f"from pathlib import Path\nhere = Path({str(tmp_path)!r})\n{DEMO}"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [[False, False], [True, False]]
