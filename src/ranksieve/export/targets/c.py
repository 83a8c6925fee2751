"""Export to a single C file."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ranksieve.data import DataError
from ranksieve.export.forms import LinearModel
from ranksieve.export.targets.target import Artifact, Job, Target, to_preorder

_FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-ffp-contract=off")

_HEAD = """/* A ranking model, in C99. Larger scores are better.

       double {prefix}_score(const double *x);

   x has the features in the order of {prefix}_features. Where a value is missing, pass NAN{rule}.
   Compile without options such as -ffast-math, which change the results. */

#include <math.h>

extern const int {prefix}_n_features;
extern const char *const {prefix}_features[];
double {prefix}_score(const double *x);

const int {prefix}_n_features = {n};
const char *const {prefix}_features[] = {{
{names}}};
"""

_TREES = """
/* The left child of a node is the next one, the right one is `skip` nodes further. A split has
   2 * feature, plus 1 if missing values go left; a leaf has -1. `number` is the threshold of a
   split or the value of a leaf. */
struct node {{
    double number;
    int split;
    int skip;
}};

static const struct node nodes[] = {{
{nodes}}};

static const int roots[] = {{
{roots}}};

double {prefix}_score(const double *x)
{{
    {real} total = 0;
    unsigned tree;
    for (tree = 0; tree < sizeof roots / sizeof *roots; tree++) {{
        const struct node *node = nodes + roots[tree];
        while (node->split >= 0) {{
            const double value = x[node->split >> 1];
            const int left = (value <= node->number) | ((node->split & 1) & (value != value));
            node += left ? 1 : node->skip;
        }}
        total += ({real})node->number;
    }}
    return total;
}}
"""

_LINEAR = """
static const double weights[] = {{
{weights}}};

double {prefix}_score(const double *x)
{{
    double total = {intercept};
    int feature;
    for (feature = 0; feature < {n}; feature++) {{
        const double value = x[feature];
        total += (value == value ? value : 0.0) * weights[feature];
    }}
    return total;
}}
"""


class CFile(Target):
    """Writes a C file with one function."""

    name = "c"
    about = "one C file with a function that scores an array of features"
    is_engine = False

    def write(self, job: Job) -> Artifact:
        """Write the tables and the function."""
        prefix = c_name(job.name)
        rule = ", which counts as 0" if job.missing == "zero" else ""
        common = {"prefix": prefix, "n": len(job.names)}
        names = "".join(f"    {c_string(name)},\n" for name in job.names)
        text = _HEAD.format(**common, rule=rule, names=names)
        if isinstance(job.model, LinearModel):
            weights = _lines([_literal(weight) for weight in job.model.weights.tolist()])
            intercept = _literal(job.model.intercept)
            text += _LINEAR.format(**common, weights=weights, intercept=intercept)
        else:
            text += _TREES.format(**common, **_tables(job))
        readme = (
            f"# A ranking model in C\n\n`model.c` defines `{prefix}_score`; the comment at its top "
            "says how to call it. Compile it with\n\n    "
            "cc -std=c99 -O2 -ffp-contract=off -c model.c\n"
        )
        return Artifact({"model.c": text, "README.md": readme})

    def scores(self, directory: Path, X: np.ndarray, names: list[str]) -> np.ndarray:
        """Compile the file and score with it."""
        with TemporaryDirectory() as build:
            library = load_c(directory / "model.c", Path(build))
            score, order = load_score_function(directory / "model.c", library, names)
            rows = np.ascontiguousarray(X[:, order], dtype=np.float64)
            start, step = rows.ctypes.data, rows.strides[0]
            return np.array([score(start + row * step) for row in range(len(rows))])


def load_c(path: Path, directory: Path) -> Any:
    """Compile an exported file, with warnings as errors, and load it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise DataError("the C file cannot be verified: there is no C compiler (cc)")
    library = directory / "model.so"
    command = [compiler, *_FLAGS, "-Werror", "-shared", "-fPIC", str(path), "-o", str(library)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise DataError(f"{path}: the C compiler rejects it: {run.stderr[:400]}")
    return ctypes.CDLL(str(library))


def load_score_function(path: Path, library: Any, names: list[str]) -> tuple[Any, list[int]]:
    """Return the function of a compiled file, which takes row addresses, and its columns."""
    declaration = re.search(r"(?m)^double (\w+)_score\(", path.read_text(encoding="ascii"))
    assert declaration is not None
    prefix = declaration[1]
    n_features = ctypes.c_int.in_dll(library, f"{prefix}_n_features").value
    texts = (ctypes.c_char_p * n_features).in_dll(library, f"{prefix}_features")
    score = getattr(library, f"{prefix}_score")
    score.restype, score.argtypes = ctypes.c_double, [ctypes.c_void_p]
    known = [name.encode("utf-8", "surrogatepass").partition(b"\0")[0] for name in names]
    return score, [known.index(bytes(text or b"")) for text in texts]


def _tables(job: Job) -> dict[str, str]:
    table = to_preorder(job.trees)
    rows = zip(table.feature, table.number, table.missing_left, table.skip, strict=True)
    nodes = [
        f"{{{_literal(number)}, {-1 if feature < 0 else 2 * feature + missing_left}, {skip}}}"
        for feature, number, missing_left, skip in rows
    ]
    return {
        "nodes": _lines(nodes, 4),
        "roots": _lines([str(root) for root in table.roots], 12),
        "real": "float" if job.trees.sums_in_single else "double",
    }


def _lines(words: list[str], width: int = 6) -> str:
    starts = range(0, len(words), width)
    return "".join(f"    {', '.join(words[start : start + width])},\n" for start in starts)


def _literal(number: float) -> str:
    return repr(float(number)).replace("inf", "INFINITY")


def c_name(name: str) -> str:
    """Convert a name to a C identifier."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return plain if re.match(r"[A-Za-z]", plain) else f"model_{plain}"


def c_string(text: str) -> str:
    """Write text as an ASCII string literal of C; other UTF-8 bytes become octal escapes."""
    plain = {*range(0x20, 0x7F)} - {*b'"\\?'}
    codes = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(code) if code in plain else f"\\{code:03o}" for code in codes) + '"'
