"""Check that the files of shards exist, with the right size and checksum."""

from __future__ import annotations

import os
from pathlib import Path

from ranksieve.data import DataError
from ranksieve.io.files import explain_os_error, explain_read_errors
from ranksieve.io.shards.format import Manifest, check_checksum, checksum_of
from ranksieve.progress import track


def check_sizes(directory: Path, manifest: Manifest) -> None:
    """Raise a DataError that names the first file that is missing or has the wrong size."""
    for shard in manifest.shards:
        for file in shard.files.values():
            path = directory / file.name
            try:
                found = os.stat(path).st_size
            except OSError as error:
                raise DataError(
                    f"{path}: {explain_os_error(error)}, but the manifest lists it with "
                    f"{file.bytes} bytes"
                ) from error
            if found != file.bytes:
                raise DataError(
                    f"{path}: has {found} bytes, but {file.bytes} were written; it is "
                    "truncated or not of these shards"
                )


def verify_files(directory: Path, manifest: Manifest) -> None:
    """Raise a DataError that names the first file with the wrong checksum or size."""
    files = [file for shard in manifest.shards for file in shard.files.values()]
    check_sizes(directory, manifest)
    advance = track("Verifying", sum(file.bytes for file in files))
    for file in files:
        path = directory / file.name
        with explain_read_errors(path):
            checksum = checksum_of(path, advance)
        check_checksum(path, checksum, file)
