"""The format of shards: files of arrays, ids among them, and the manifest that lists them."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np

from ranksieve.data import DataError

FORMAT = "ranksieve-shards"
VERSION = 1
MANIFEST = "manifest.json"
CHECKSUM = "crc32"

IdKind = Literal["int", "str"]

_FILE_NAME = re.compile(r"[0-9]{6,}\.[A-Za-z_]+\.npy")
_CHUNK = 2**20
_KINDS = {int: "a number", str: "a text", bool: "true or false", list: "a list", dict: "an object"}


@dataclass(frozen=True)
class StoredFile:
    """A file of a shard."""

    name: str
    bytes: int
    checksum: str


@dataclass(frozen=True)
class StoredShard:
    """A shard: its size, and what it is for -> file."""

    rows: int
    queries: int
    files: dict[str, StoredFile]


@dataclass(frozen=True)
class Manifest:
    """What a directory of shards holds."""

    data_id: str
    n_rows: int
    n_queries: int
    n_features: int
    dtype: str
    sparse: bool
    feature_names: list[str] | None
    query_ids: IdKind
    doc_ids: IdKind | None
    shards: list[StoredShard]

    def to_json(self) -> str:
        """Text for people and for :meth:`from_json`."""
        head = {"format": FORMAT, "version": VERSION, "checksum": CHECKSUM}
        return json.dumps(head | asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        """Read and check a manifest: all that follows may rely on it."""
        record = _read_head(text)
        shards = [_shard(entry) for entry in _get(record, "shards", list)]
        manifest = cls(
            data_id=_get(record, "data_id", str),
            n_rows=_get(record, "n_rows", int),
            n_queries=_get(record, "n_queries", int),
            n_features=_get(record, "n_features", int),
            dtype=_get_one_of(record, "dtype", "float32", "float64"),
            sparse=_get(record, "sparse", bool),
            feature_names=_feature_names(record),
            query_ids=_get_one_of(record, "query_ids", "int", "str"),
            doc_ids=_get_one_of(record, "doc_ids", None, "int", "str"),
            shards=shards,
        )
        manifest._check_shards()
        return manifest

    @property
    def roles(self) -> set[str]:
        """What each shard has files for."""
        roles = {"y", "query_ptr", "query_ids"}
        roles |= {"data", "indices", "indptr"} if self.sparse else {"X"}
        roles |= {"query_id_offsets"} if self.query_ids == "str" else set()
        roles |= {"doc_ids"} if self.doc_ids else set()
        return roles | ({"doc_id_offsets"} if self.doc_ids == "str" else set())

    def _check_shards(self) -> None:
        if not self.shards:
            raise _damaged("it lists no shards")
        for number, shard in enumerate(self.shards):
            if shard.files.keys() != self.roles:
                raise _damaged(
                    f"shard {number} should have files for {', '.join(sorted(self.roles))}"
                )
        for key, total in (("rows", self.n_rows), ("queries", self.n_queries)):
            found = sum(getattr(shard, key) for shard in self.shards)
            if found != total:
                raise _damaged(f"its shards have {found} {key} but 'n_{key}' is {total}")


def _damaged(message: str) -> DataError:
    return DataError(f"the manifest is damaged: {message}")


def _read_head(text: bytes) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"it is not JSON ({error})") from None
    found = record.get("format") if isinstance(record, dict) else None
    if found != FORMAT:
        raise DataError(f"not a manifest of ranksieve's shards: its format is {found!r}")
    version = _get(record, "version", int)
    if version > VERSION:
        raise DataError(
            f"written by a newer version of ranksieve: format {version}, this one reads {VERSION}"
        )
    _get_one_of(record, "checksum", CHECKSUM)
    return record


def _get(record: Any, key: str, kind: type) -> Any:
    if not isinstance(record, dict) or key not in record:
        raise _damaged(f"{key!r} is missing")
    value = record[key]
    if type(value) is not kind:  # true is an int for isinstance
        raise _damaged(f"{key!r} should be {_KINDS[kind]}, not {value!r:.40}")
    if isinstance(value, int) and value < 0:
        raise _damaged(f"{key!r} is {value}")
    return value


def _get_one_of(record: dict[str, Any], key: str, *choices: str | None) -> Any:
    if key not in record:
        raise _damaged(f"{key!r} is missing")
    if record[key] not in choices:
        raise _damaged(f"{key!r} is {record[key]!r:.40}, which this version does not know")
    return record[key]


def _feature_names(record: dict[str, Any]) -> list[str] | None:
    if "feature_names" in record and record["feature_names"] is None:
        return None
    names = _get(record, "feature_names", list)
    if not all(type(name) is str for name in names):
        raise _damaged("a feature name is not a text")
    if len(names) != record["n_features"]:
        raise _damaged(f"{len(names)} feature names for {record['n_features']} features")
    return names


def _shard(entry: Any) -> StoredShard:
    files = {
        role: StoredFile(
            _get(file, "name", str), _get(file, "bytes", int), _get(file, "checksum", str)
        )
        for role, file in _get(entry, "files", dict).items()
    }
    for file in files.values():
        if not is_file_name(file.name):
            raise _damaged(f"{file.name!r:.80} is not the name of a file of shards")
    return StoredShard(_get(entry, "rows", int), _get(entry, "queries", int), files)


def file_name(shard: int, role: str) -> str:
    """Name of a file of a shard."""
    return f"{shard:06d}.{role}.npy"


def is_file_name(name: str) -> bool:
    """Whether a file of a shard may have this name: never a path that leads elsewhere."""
    return _FILE_NAME.fullmatch(name) is not None


# Arrays


def write_array(path: Path, array: np.ndarray) -> StoredFile:
    """Write a ``.npy`` file in row order through to the disk."""
    array = np.ascontiguousarray(array)
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    content = array.reshape(-1).view(np.uint8).data
    checksum = zlib.crc32(content, zlib.crc32(header.getvalue()))
    write_through(path, header.getvalue(), content)
    return StoredFile(path.name, header.tell() + content.nbytes, f"{checksum:08x}")


def write_through(path: Path, *contents: Any) -> None:
    """Write a file through to the disk, so that no finished directory lacks part of it."""
    try:
        with path.open("wb") as file:
            for content in contents:
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error


_parsing = Lock()  # numpy parses headers as Python, which some versions cannot do in two threads


def map_array(path: Path) -> np.ndarray:
    """Map a ``.npy`` file for reading; nothing but its header is read."""
    try:
        with _parsing:
            return np.lib.format.open_memmap(path, mode="r").view(np.ndarray)
    except (OSError, ValueError, TypeError, SyntaxError, OverflowError) as error:
        raise DataError(f"{path}: is damaged: {error}") from error


def checksum_of(path: Path, advance: Callable[[int], None]) -> str:
    """Checksum of a file; ``advance`` is told the bytes as they are read."""
    checksum = 0
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            checksum = zlib.crc32(piece, checksum)
            advance(len(piece))
    return f"{checksum:08x}"


# Ids


def as_integers(ids: np.ndarray | list[Any]) -> np.ndarray | None:
    """Ids as int64, if all of them are integers that fit."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "i":
        return ids.astype(np.int64)
    values = ids.tolist() if isinstance(ids, np.ndarray) else ids
    if not all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in values):
        return None
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return None


def as_strings(ids: np.ndarray | list[Any]) -> list[str]:
    """Ids as text; a missing one is empty."""
    values = ids.tolist() if isinstance(ids, np.ndarray) else ids
    return ["" if value is None else str(value) for value in values]


def encode_strings(strings: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Bytes of all strings, and where each begins; the last offset is their end."""
    # Python's strings may hold halves of surrogate pairs, which plain UTF-8 does not know.
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(code) for code in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def decode_strings(text: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Undo :func:`encode_strings`."""
    raw = text.tobytes()
    bounds = pairwise(offsets.tolist())
    strings = [raw[start:end].decode("utf-8", "surrogatepass") for start, end in bounds]
    return np.array(strings, dtype=object)
