"""Store data larger than memory as shards: memory-mapped runs of whole queries.

A directory of shards contains plain ``.npy`` files and ``manifest.json``, which lists them with
their sizes and checksums. Every shard is one :class:`~ranksieve.data.Block`.
"""

from ranksieve.io.shards.directory import open_shards
from ranksieve.io.shards.shards import Shards, Verify
from ranksieve.io.shards.writing import convert_to_shards, write_shards

__all__ = ["Shards", "Verify", "convert_to_shards", "open_shards", "write_shards"]
