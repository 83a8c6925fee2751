"""Which tests are slow, so that ``dev.py test --quick`` can leave them out.

``dev.py test --remember-slow`` runs all tests and writes the list anew: the time of the processor
counts, that of other processes which a test starts, too.
"""

import re
import resource
import time
from collections import Counter
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("slow.txt")
# Real data; processes, which nobody measures.
_SLOW_FIXTURES = {"browser", "mq2008_dir", "start_program"}
_LIMIT = 0.1  # seconds of the slowest case of a test


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="Leave out the tests of slow.txt.")
    parser.addoption("--remember-slow", action="store_true", help="Write slow.txt anew.")


def pytest_configure(config):
    if config.getoption("--remember-slow"):
        config.pluginmanager.register(_Watch(config))


def pytest_collection_modifyitems(config, items):
    # What needs the cluster comes first, one after the other, so that it need not run for long;
    # then pages, the longest tests, for which no process should be left alone at the end; then
    # reproductions, so that one process has them all: others would compute what they share again.
    items.sort(
        key=lambda item: (
            not uses_cluster(item),
            item.path.suffix != ".md",
            not _is_reproduction(item),
        )
    )
    if config.getoption("--quick"):
        listed = set(LIST.read_text().splitlines())
        slow = {item for item in items if _is_slow(item, listed)}
        config.hook.pytest_deselected(items=list(slow))
        items[:] = [item for item in items if item not in slow]


def _is_slow(item, listed):
    """Whether a test is on the list, or waits for what many share: a cluster, a reproduction."""
    waits = _is_reproduction(item) or bool(_SLOW_FIXTURES & _fixtures(item))
    return waits or uses_cluster(item) or _name(item.nodeid) in listed


def _is_reproduction(item):
    return "tests/reproduction/" in item.nodeid


def uses_cluster(item):
    """Whether a test asks for the cluster."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    asks = {"client", "scheduler"} & _fixtures(item)
    return bool(asks) or parameters.get("everywhere") == "dask"


def _fixtures(item):
    return set(getattr(item, "fixturenames", ()))


def _name(nodeid):
    """A test without its parameters."""
    return re.sub(r"\[.*", "", nodeid, flags=re.DOTALL)


def _processor_seconds():
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + others.ru_utime + others.ru_stime


class _Watch:
    """Measures tests, here and in the workers of pytest-xdist, whose results come here."""

    def __init__(self, config):
        self.config, self.seconds = config, Counter()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        start = _processor_seconds()
        yield
        name, took = _name(item.nodeid), _processor_seconds() - start
        self.seconds[name] = max(self.seconds[name], took)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        self._take(node.workeroutput.get("seconds", {}))

    def _take(self, seconds):
        for name, took in seconds.items():
            self.seconds[name] = max(self.seconds[name], took)

    def pytest_sessionfinish(self):
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["seconds"] = dict(self.seconds)
        else:
            slow = sorted(name for name, took in self.seconds.items() if took > _LIMIT)
            LIST.write_text("\n".join(slow) + "\n")
