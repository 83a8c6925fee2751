"""Set up and run ranksieve from a checkout: ``python3 dev.py demo`` or ``python3 dev.py test``.

Needs only Python 3.11 or newer. The first run makes a virtual environment in ``.venv`` (or in the
directory named by RANKSIEVE_VENV) and installs the package into it; later runs use it again and
install again only if ``pyproject.toml`` changes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = Path(os.environ.get("RANKSIEVE_VENV", ROOT / ".venv"))
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")

USAGE = """usage: python3 dev.py COMMAND [ARGUMENTS]

  demo [ARGS]         recommend features of the embedded demo; writes demo-recommendation
  test                run all tests, on all cores
  test --quick        run all tests except slow ones
  test ARGS           run pytest with these arguments, on one core
  check               check lint, format, types and import contracts
  bench               list the benchmarks
  bench NAME [ARGS]   run a benchmark, beside other programs that are installed
"""


def install(extra: str) -> None:
    """Install the package with an extra, unless that was done for this pyproject.toml."""
    digest = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + str(ROOT).encode())
    stamp = VENV / f"ranksieve-{extra or 'base'}.stamp"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    if not BIN.exists():
        print(f"Making a virtual environment in {VENV}", file=sys.stderr)
        venv.create(VENV, with_pip=True)
    print("Installing ranksieve and its dependencies (a minute or two) ...", file=sys.stderr)
    target = f"{ROOT}[{extra}]" if extra else str(ROOT)
    pip = [str(BIN / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--editable", target], check=True)
    stamp.write_text(digest.hexdigest())


def drop_stale_kernels() -> None:
    """Remove compiled kernels older than a kernel's source.

    numba compiles a kernel again if its own file changes, but not if that of a kernel that it calls
    does.
    """
    kernels = ROOT / "src" / "ranksieve" / "_kernels"
    newest = max(source.stat().st_mtime for source in kernels.glob("*.py"))
    for compiled in (kernels / "__pycache__").glob("*.nb?"):
        if compiled.stat().st_mtime < newest:
            compiled.unlink()


@contextmanager
def test_environment() -> Iterator[dict[str, str]]:
    """Yield environment variables with which many processes of tests start quickly."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    # Idle threads of OpenMP and OpenBLAS would occupy cores that other processes need.
    quiet = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "4"}
    memory = Path("/dev/shm")
    if not memory.is_dir() or shutil.disk_usage(memory).free < 4 * 2**30:
        yield quiet | kept
        return
    # Tests write thousands of files, and the library waits until each is on the disk.
    with tempfile.TemporaryDirectory(prefix="ranksieve-tests-", dir=memory) as directory:
        yield quiet | {"TMPDIR": directory} | kept


def call(program: str, *arguments: str, env: dict[str, str] | None = None) -> None:
    """Run a program of the environment in the checkout; stop with its status if it fails."""
    done = subprocess.run([str(BIN / program), *arguments], cwd=ROOT, env=env)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    """Run one command."""
    if sys.version_info < (3, 11):
        sys.exit(f"ranksieve needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    command, *rest = sys.argv[1:] or ["help"]
    if command == "demo":
        install("")
        call("ranksieve", "recommend", "--margin", "3%", "--out", "demo-recommendation", *rest)
    elif command == "test":
        install("dev")
        drop_stale_kernels()
        if rest in ([], ["--quick"]):
            quick = ["-m", "not slow"] if rest else []
            rest = [f"--numprocesses={os.cpu_count() or 1}", "--dist=worksteal", *quick]
        with test_environment() as variables:
            call("python", "-m", "pytest", *rest, env=variables)
    elif command == "check":
        install("dev")
        call("ruff", "check", ".")
        call("ruff", "format", "--check", ".")
        call("mypy")
        call("lint-imports")
    elif command == "bench":
        install("bench")
        drop_stale_kernels()
        call("python", "-m", "benchmarks", *rest)
    else:
        sys.exit(USAGE)


if __name__ == "__main__":
    main()
