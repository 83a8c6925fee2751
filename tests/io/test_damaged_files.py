"""Every file that we read, damaged at random: read as it was, refused, or plainly another one."""

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import settings

from ranksieve import (
    DataError,
    RankingData,
    load_model,
    make_ranking,
    read_csv,
    read_letor,
    read_parquet,
    write_letor,
    write_parquet,
)
from ranksieve.io.feature_logs import read_feature_log, read_judgments
from ranksieve.io.files import compressed_writer
from ranksieve.io.letor import read_scores, write_scores
from ranksieve.io.model import read_model
from ranksieve.io.records import checksum_of
from ranksieve.io.selection import read_selection, write_selection
from ranksieve.io.shards import open_shards, write_shards
from ranksieve.rankers import AdaRank, RankSVM
from ranksieve.selectors import GAS
from ranksieve.selectors.record import record_selection
from tests.io.test_feature_logs import (
    BOTH,
    ELASTICSEARCH,
    GRADES,
    ONE,
    SOLR,
    TWO,
    doc,
    solr_response,
)

HOSTILE = [None, True, -1, 0, 10**400, 1e308, "", "x", "\0", [], {}, [[]], {"": None}, 2**63]
HOSTILE += ["a=1,b=2", [None], {"hits": []}, {"name": "a"}]
TOKENS = [b"", b"\0", b"\n", b"NaN", b"1e999", b"9" * 400, b"[" * 5000, b"null", b'"', b"{", b"-"]


def planted() -> RankingData:
    data, _ = make_ranking(8, n_informative=2, n_redundant=0, n_noise=2, random_state=1)
    documents = [f"d{row}" for row in range(data.n_rows)]
    names = ["bm25", "caf\u00e9", "clicks", "age"]
    return RankingData(data.X, data.y, data.qid, feature_names=names, doc_ids=documents)


def planted_with_weights() -> RankingData:
    data = planted()
    return data.with_weights(np.arange(1.0, data.n_queries + 1))


def as_parts(data: RankingData) -> list[Any]:
    X = data.X.toarray() if data.is_sparse else data.X
    documents = None if data.doc_ids is None else data.doc_ids.tolist()
    weights = None if data.query_weights is None else data.query_weights.tolist()
    parts = [X.tobytes(), data.y.tolist(), data.qid.tolist(), data.feature_names.tolist()]
    return [*parts, documents, weights]


@dataclass(frozen=True)
class Format:
    """A kind of file.

    ``write`` makes it at a path; ``read`` returns what can be compared; whether all content has
    a ``checksum``; ``sign`` mends the checksum of a record, so that what is behind it is reached.
    """

    name: str
    write: Callable[[Path], Any]
    read: Callable[[Path], Any]
    checksum: bool
    sign: Callable[[dict], dict] | None = None

    def __str__(self) -> str:
        return self.name


def shards(as_csr: bool) -> Format:
    def read(path: Path) -> Any:
        with open_shards(path) as opened:
            return as_parts(opened.read())

    return Format(
        "CSR shards" if as_csr else "shards",
        lambda path: write_shards(planted_with_weights(), path, sparse=as_csr, shard_bytes=1500),
        read,
        checksum=True,
        sign=signed,
    )


def signed(record: Any) -> Any:
    if not isinstance(record, dict):
        return record
    content = {name: value for name, value in record.items() if name != "checksum"}
    return content | {"checksum": checksum_of(content)}


def letor(name: str) -> Format:
    return Format(
        name,
        lambda path: write_letor(planted(), path),
        lambda path: as_parts(read_letor(path, n_features=4)),
        checksum=True,
    )


def delimited(name: str) -> Format:
    def write(path: Path) -> None:
        data = planted_with_weights()
        table = {"qid": data.qid, "label": data.y, "doc_id": data.doc_ids}
        table["weight"] = data.query_weights[data.query_codes]
        table |= {name: data.X[:, index] for index, name in enumerate(data.feature_names)}
        separator = "\t" if ".tsv" in name else ","
        with compressed_writer(path) as stream:
            stream.write(pd.DataFrame(table).to_csv(sep=separator, index=False).encode())

    return Format(
        name, write, lambda path: as_parts(read_csv(path)), checksum=name.endswith(("gz", "zst"))
    )


def scores(name: str) -> Format:
    values = np.random.default_rng(0).normal(size=60)
    return Format(
        name,
        lambda path: write_scores(values, path),
        lambda path: read_scores(path).tolist(),
        checksum=name != "scores",
    )


def model(kind: type, name: str) -> Format:
    def write(path: Path) -> None:
        data = planted()
        selection = record_selection(GAS(3).fit(data), data, "gas-e", [])
        kind().fit(data.take_features(selection.columns)).save_model(path, selection=selection)

    def read(path: Path) -> Any:
        load_model(path)
        return read_model(path).to_json()

    return Format(name, write, read, checksum=True, sign=signed)


def selection() -> Format:
    def write(path: Path) -> None:
        data = planted()
        write_selection(record_selection(GAS(3).fit(data), data, "gas-e", ["a.txt"]), path)

    def read(path: Path) -> Any:
        found = read_selection(path)
        write_selection(found, path)  # what was read can be written
        assert found.columns.max() < found.n_features_in
        return found

    return Format("selection.json", write, read, checksum=True, sign=signed)


def log(name: str, responses: list[dict]) -> Format:
    """Responses of engines, as JSON or a line each."""
    texts = list(map(json.dumps, responses))

    def write(path: Path) -> None:
        whole = f"[{', '.join(texts)}]" if path.suffix == ".json" else "\n".join(texts)
        with compressed_writer(path) as stream:
            stream.write(whole.encode())

    def read(path: Path) -> Any:
        data, _ = read_feature_log(path, GRADES)
        assert not np.isinf(data.X).any()
        write_parquet(data, path.with_name("again.parquet"))  # what was read can be written
        rows = zip(data.qid, data.doc_ids, strict=True)
        assert all(document in GRADES[query] for query, document in rows)
        return as_parts(data)

    return Format(name, write, read, checksum=name.endswith("zst"), sign=lambda record: record)


def judgments(path: Path) -> Any:
    grades = read_judgments(path).grades
    assert all(np.isfinite(list(documents.values())).all() for documents in grades.values())
    return grades


JUDGED = b"grade,keywords,docId\n4,rambo,7555\n3,rambo,1370\n2,rocky,4241\n"
FORMATS = [
    shards(False),
    shards(True),
    letor("data.txt.gz"),
    letor("data.txt.zst"),
    scores("scores"),
    scores("scores.gz"),
    scores("scores.zst"),
    model(RankSVM, "ranksvm.json"),
    model(AdaRank, "adarank.json"),
    selection(),
    Format("data.parquet", lambda path: write_parquet(planted_with_weights(), path),
           lambda path: as_parts(read_parquet(path)), checksum=True),
    delimited("data.csv"),
    delimited("data.tsv"),
    delimited("data.csv.gz"),
    delimited("data.tsv.zst"),
    log("elasticsearch.json", [{"qid": "rambo", "response": json.loads(ELASTICSEARCH)}, BOTH[1]]),
    log("multi-search.json", [{"qid": ["rambo", "rocky"], "responses": [ONE, TWO]}]),
    log("solr.json", [json.loads(SOLR), solr_response("rocky", doc("4241", "isBook=1.0,x=3"))]),
    log("log.jsonl.zst", BOTH),
    Format("judgments.csv", lambda path: path.write_bytes(JUDGED), judgments, checksum=False),
]  # fmt: skip


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Bytes with one or two changes."""
    for _ in range(rng.choice((1, 1, 1, 2))):
        at = rng.randrange(len(content) + 1)
        until = min(len(content), at + rng.choice((1, 1, 2, 5, 60)))
        kind = rng.randrange(7)
        if kind <= 2:
            at = min(at, len(content) - 1)
            changed = bytes([content[at] ^ (1 << rng.randrange(8))])
            content = content[:at] + changed + content[at + 1 :]
        elif kind == 3:
            content = content[:at] + content[until:]
        elif kind == 4:
            content = content[:at] + rng.choice(TOKENS) + content[until:]
        elif kind == 5:
            content = content[:until] + content[at:]
        else:
            content = content[:at] + rng.randbytes(until - at) + content[until:]
        content = content or b" "
    return content


def places(node: Any) -> list[tuple[Any, Any]]:
    """All (container, key) of a record."""
    keys = list(node) if isinstance(node, dict) else range(len(node))
    found = [(node, key) for key in keys]
    for key in keys:
        if isinstance(node[key], (dict, list)):
            found += places(node[key])
    return found


def hostile(content: bytes, rng: random.Random, sign: Callable[[dict], dict]) -> bytes:
    """A record with one value replaced or left out, and a checksum that is right."""
    record = json.loads(content)
    node, key = rng.choice(places(record))
    if rng.random() < 0.2:
        del node[key]
    else:
        node[key] = rng.choice(HOSTILE)
    return json.dumps(sign(record)).encode()


def attack(form: Format, directory: Path, times: int, seed: int) -> Counter:
    """Damage a file again and again, and count what comes of it."""
    rng = random.Random(seed)
    path = directory / form.name.replace(" ", "-")
    form.write(path)
    expected = form.read(path)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    count: Counter = Counter()
    for number in range(times):
        file = rng.choice(files)
        content = file.read_bytes()
        # Content that is signed again may be another, but must not be anything else.
        resigned = form.sign is not None and file.suffix == ".json" and number % 4 == 0
        damaged = hostile(content, rng, form.sign) if resigned else mutated(content, rng)
        file.write_bytes(damaged)
        try:
            found = form.read(path)
        except DataError as error:
            outcome = "refused" if str(error).startswith(str(path)) else f"unclear: {error}"
        else:
            outcome = "equal" if found == expected else "another"
        assert outcome != "another" or resigned or not form.checksum, (file.name, damaged)
        count[outcome] += 1
        file.write_bytes(content)
    return count


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_damage_is_refused_or_harmless(form, tmp_path):
    most = max(2**26, pa.default_memory_pool().max_memory())  # of all tests so far
    times = 10 * settings.default.max_examples
    count = attack(form, tmp_path, times, seed=7)
    assert count.keys() <= {"refused", "equal", "another"}
    assert count["refused"] > times / 2
    # A file of some kilobytes takes little memory, whatever its pages say of their size.
    assert pa.default_memory_pool().max_memory() <= most
