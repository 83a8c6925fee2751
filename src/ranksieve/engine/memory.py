"""Free memory on this machine or on Dask workers."""

from __future__ import annotations

import os

from ranksieve.engine import Source
from ranksieve.io.shards import Shards

_SHARE = 0.7  # fraction of the free memory that may be used


def fits_in_memory(source: Source, n_bytes: int) -> bool:
    """Whether ``n_bytes`` more fit into memory, on this machine or on the Dask workers."""
    free = _free_on_workers(source) if isinstance(source, Shards) and source.client else _free()
    return free is None or n_bytes <= _SHARE * free


def _free() -> int | None:
    """Bytes of memory that this process could still use; None if unknown."""
    try:
        with open("/proc/meminfo") as facts:
            for line in facts:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def _free_on_workers(source: Shards) -> int | None:
    workers = source.client.scheduler_info()["workers"].values()
    limits = [worker["memory_limit"] for worker in workers]
    return sum(limits) if limits and all(limits) else None
