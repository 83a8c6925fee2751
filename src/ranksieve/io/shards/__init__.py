"""Shards: data larger than memory, as a directory of memory-mapped runs of whole queries."""

from ranksieve.io.shards.shards import Shards, open_shards
from ranksieve.io.shards.writer import convert_to_shards, write_shards

__all__ = ["Shards", "convert_to_shards", "open_shards", "write_shards"]
