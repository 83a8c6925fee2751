"""What pages of documentation show on the console is what commands print."""

from pathlib import Path

import pytest

from tests.console_blocks import execute, is_like, read_blocks

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["docs/from-log-to-production.md"])
def test_console_blocks_show_what_is_printed(page, run, one_thread, tmp_path, monkeypatch):
    commands = read_blocks((ROOT / page).read_text())
    assert commands
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for command in commands:
        printed = execute(command, run)
        assert is_like(command.printed, printed), "\n".join([str(command.words), *printed])
