"""Kernels compile in a second process while the first one reads, if nothing is compiled."""

import json
import os
import subprocess
import sys

import pytest

# Works that say that they ran, one of which fails; with an empty cache, for no method, for a
# method of somebody else, without files to read, and once something is compiled.
PROGRAM = """
import json, sys
from pathlib import Path
from ranksieve.cli.rehearsal import rehearse
from ranksieve.selectors.registry import SELECTORS

class Others:
    is_ours = False

here, ours = Path(sys.argv[1]), SELECTORS["top"]

def ran(method, files, name, fails=False):
    def work(data):
        (here / name).write_text(f"{data.n_rows}")
        print("not to be seen")
        assert not fails
    rehearse(files, work, method)()
    return (here / name).exists()

found = [
    ran(ours, [here], "first"),
    ran(None, [here], "failing", fails=True),
    ran(ours, None, "no files"),
    ran(Others, [here], "of users"),
]
(here / "cache" / "kernel.nbi").touch()
found.append(ran(ours, [here], "again"))
print(json.dumps(found))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, processes are not forked")
@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="needs two cores",
)
def test_only_the_first_command_has_one(tmp_path):
    (tmp_path / "cache").mkdir()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [True, True, False, False, False]
    assert done.stderr == ""
