"""The format of shards: files of arrays and ids, their checksums, and the manifest."""

from __future__ import annotations

import json
import math
import os
import re
import zlib
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct

from ranksieve.data import DataError
from ranksieve.io import records
from ranksieve.io.records import Count

FORMAT = "ranksieve-shards"
VERSION = 4  # the manifest's own checksum has had the name of all others since 4
MANIFEST = "manifest.json"

IdKind = Literal["int", "str"]

_FILE_NAME = r"^[0-9]{6,}\.[A-Za-z_]+\.npy\Z"  # paths to other directories are not allowed
_ALIGNMENT = 16  # of values in a file; NumPy's is 64


class StoredFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a shard: its name, size and CRC-32."""

    name: Annotated[str, Meta(pattern=_FILE_NAME)]
    bytes: Count
    checksum: str


class StoredShard(Struct, frozen=True, forbid_unknown_fields=True):
    """A shard: its size, and its files by role."""

    rows: Count
    queries: Count
    files: dict[str, StoredFile]


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """Description of the content of a directory of shards."""

    data_id: str
    n_rows: Count
    n_queries: Count
    n_features: Count
    dtype: Literal["float32", "float64"]
    sparse: bool
    feature_names: list[str] | None
    query_ids: IdKind
    doc_ids: IdKind | None
    weights: bool
    shards: Annotated[list[StoredShard], Meta(min_length=1)]
    row_weights: bool = False
    positions: bool = False

    def __post_init__(self) -> None:
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise DataError(
                f"{len(self.feature_names)} feature names for {self.n_features} features"
            )
        for number, shard in enumerate(self.shards):
            if shard.files.keys() != self.roles:
                raise DataError(
                    f"shard {number} should have files for {', '.join(sorted(self.roles))}"
                )
        for name, total in (("rows", self.n_rows), ("queries", self.n_queries)):
            found = sum(getattr(shard, name) for shard in self.shards)
            if found != total:
                raise DataError(f"its shards have {found} {name} but 'n_{name}' is {total}")

    def to_json(self) -> str:
        """Write the manifest as readable JSON text for :meth:`from_json`."""
        return json.dumps(records.sign_record(self, FORMAT, VERSION), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: bytes) -> Manifest:
        """Read and check a manifest, so that later code may rely on it."""
        try:
            record = records.parse_record(text)
        except ValueError as error:
            raise DataError(f"it is damaged: it is not JSON ({error})") from None
        what = "a manifest of ranksieve's shards"
        return records.convert_signed(record, cls, FORMAT, VERSION, what)

    @property
    def roles(self) -> set[str]:
        """Roles of the files that each shard has."""
        roles = {"y", "query_ptr", "query_ids"}
        roles |= {"data", "indices", "indptr"} if self.sparse else {"X"}
        roles |= {"query_id_offsets"} if self.query_ids == "str" else set()
        roles |= {"doc_ids"} if self.doc_ids else set()
        roles |= {"query_weights"} if self.weights else set()
        roles |= {role for role in ("row_weights", "positions") if getattr(self, role)}
        return roles | ({"doc_id_offsets"} if self.doc_ids == "str" else set())


def file_name(shard: int, role: str) -> str:
    """Return the name of a shard's file."""
    return f"{shard:06d}.{role}.npy"


def is_file_name(name: str) -> bool:
    """Whether a shard's file may have this name."""
    return re.search(_FILE_NAME, name) is not None


# Arrays


def header_of(dtype: Any, shape: tuple[int, ...]) -> bytes:
    """Header of a ``.npy`` file of an array in row order."""
    header = BytesIO()
    fields = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, fields)
    return header.getvalue()


def write_array(path: Path, array: np.ndarray) -> StoredFile:
    """Write a ``.npy`` file in row order, and flush it to disk."""
    array = np.ascontiguousarray(array)
    header = header_of(array.dtype, array.shape)
    content = array.reshape(-1).view(np.uint8).data
    checksum = zlib.crc32(content, zlib.crc32(header))
    write_through(path, header, content)
    return StoredFile(path.name, len(header) + content.nbytes, f"{checksum:08x}")


def write_through(path: Path, *contents: Any) -> None:
    """Write a file and flush it to disk, so that no finished directory lacks part of it."""
    try:
        with path.open("wb") as file:
            for content in contents:
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error


def map_file(path: Path) -> np.ndarray:
    """Map the bytes of a file for reading."""
    try:
        return np.memmap(path, mode="r")
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: is damaged: {error}") from error


def array_in(
    content: np.ndarray, path: Path, shape: tuple[int | None, ...], *dtypes: str
) -> np.ndarray:
    """Return the array in the bytes of a ``.npy`` file, which must have one of the types.

    None in its shape, which has one dimension then, stands for any length. The header is compared
    with that of such an array, and not parsed.
    """
    start = 10 + int.from_bytes(content[8:10].tobytes(), "little")
    header = content[:start].tobytes().rstrip()
    for dtype in dtypes:
        length = (len(content) - start) // np.dtype(dtype).itemsize
        full = tuple(length if n is None else n for n in shape)
        expected = header_of(dtype, full).rstrip()  # versions of NumPy differ in the spaces
        n_bytes = math.prod(full) * np.dtype(dtype).itemsize
        is_whole = len(content) - start == n_bytes and start % _ALIGNMENT == 0
        if is_whole and header[:8] == expected[:8] and header[10:] == expected[10:]:
            return content[start:].view(dtype).reshape(full).view(np.ndarray)
    raise DataError(
        f"{path}: is damaged: its header is not that of {' or '.join(dtypes)} values of shape "
        f"{shape}, as the manifest says"
    )


# Checksums


def check_checksum(path: Path, found: int, file: StoredFile) -> None:
    """Raise a DataError if the CRC-32 of a file differs from the manifest's."""
    if f"{found:08x}" != file.checksum:
        raise DataError(
            f"{path}: is damaged: its checksum is {found:08x}, but {file.checksum} was written; "
            "write the shards again"
        )


# Ids


def as_integers(ids: np.ndarray | list[Any]) -> np.ndarray | None:
    """Return ids as int64, or None unless all of them are integers that fit."""
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
    """Return ids as text; a missing id is empty."""
    values = ids.tolist() if isinstance(ids, np.ndarray) else ids
    return ["" if value is None else str(value) for value in values]


def encode_strings(strings: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of all strings, and the offset of each; the last offset is the end."""
    # Python strings may contain lone surrogates, which plain UTF-8 cannot encode.
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(code) for code in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def decode_strings(text: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Decode the result of :func:`encode_strings`."""
    raw = text.tobytes()
    bounds = pairwise(offsets.tolist())
    strings = [raw[start:end].decode("utf-8", "surrogatepass") for start, end in bounds]
    return np.array(strings, dtype=object)
