"""Fixtures for tests of commands."""

import pytest


@pytest.fixture
def succeed(run):
    """Run a command that succeeds and says nothing else than what it prints, which is returned."""

    def run_well(*arguments):
        status, output, errors = run(*arguments)
        assert (status, errors) == (0, "")
        return output

    return run_well
