"""Which columns of a table are labels, queries, documents, weights and features."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fnmatch import fnmatchcase
from typing import Any, NoReturn

from ranksieve.data.errors import DataError
from ranksieve.text import on_one_line, quantity

# Names by which columns are recognized, in lower case.
_GUESSES: dict[str, tuple[str, ...]] = {
    "label": (
        "label", "relevance", "rel", "grade", "relevance_label", "relevance_grade", "judgment",
        "target",
    ),
    "qid": ("qid", "query_id", "queryid", "query", "search_id", "group_id"),
    "doc_id": ("doc_id", "docid", "document_id", "docno", "item_id", "product_id"),
    "weight": ("weight", "sample_weight", "query_weight"),
}  # fmt: skip
_WORDS = {
    "label": "label", "qid": "query", "doc_id": "document", "weight": "weight",
    "row_weight": "weight of the row", "position": "position",
}  # fmt: skip
_REQUIRED = ("label", "qid")
ROLES_OF_NUMBERS = ("label", "weight", "row_weight", "position")  # the others are of ids
_SHOWN = 8  # names in a message


@dataclass(frozen=True)
class Columns:
    """Roles of the columns of a table, for Parquet, CSV, and pandas or polars frames.

    Parameters
    ----------
    label, qid, doc_id, weight : str, optional
        Columns with the label, the query, the document and the weight of the query. By default,
        they are recognized by their names; see the notes.
    row_weight, position : str, optional
        Columns with the weight of the row, such as an inverse propensity, and with the position
        where the document was shown; never guessed. They are not features.
    ignore : str or sequence of str
        Columns to leave out: names, or patterns such as ``"debug_*"``.
    features : str or sequence of str
        Feature columns: names, or patterns. By default all remaining columns.

    Notes
    -----
    A column is recognized by its name, in upper or lower case: ``label``, ``relevance``, ``rel``,
    ``grade``, ``relevance_label``, ``relevance_grade``, ``judgment`` or ``target`` is the label;
    ``qid``, ``query_id``, ``queryid``, ``query``, ``search_id`` or ``group_id`` the query;
    ``doc_id``, ``docid``, ``document_id``, ``docno``, ``item_id`` or ``product_id`` the document;
    ``weight``, ``sample_weight`` or ``query_weight`` the weight. Two of a kind are refused, as is
    a table without label or query. A column that ``features`` or ``ignore`` names is not guessed
    to be something else.

    Without ``features``, every other column must be a number. A number whose column is called
    ``id`` or ends in ``_id`` is an id rather than a measurement, which a model would memorize: it
    is refused unless ``features`` or ``ignore`` names it. The index that pandas stores in Parquet
    files is left out. With ``features``, columns that match no pattern are left out, whatever they
    contain.

    White space around ids is ignored. Query ids of CSV files are integers if all of them are whole
    numbers (``1`` and ``1.0`` are one query, ``007`` is no number), else text. In Parquet files and
    frames, the type of the column counts; floats that are all whole become integers.

    Patterns are those of a shell: ``*`` any characters, ``?`` one, ``[ab]`` one of these.

    Examples
    --------
    >>> from ranksieve.data.columns import Columns
    >>> fields = {name: "" for name in ("query_id", "grade", "shop_id", "bm25", "price")}
    >>> roles = Columns(ignore="shop_id").resolve(fields, "clicks.csv")
    >>> print(roles)
    Columns: label = grade, query = query_id; 2 features: bm25, price; left out: shop_id
    """

    label: str | None = None
    qid: str | None = None
    doc_id: str | None = None
    weight: str | None = None
    ignore: Sequence[str] = ()
    features: Sequence[str] = ()
    row_weight: str | None = None
    position: str | None = None

    def __post_init__(self) -> None:
        for role in _WORDS:
            name = getattr(self, role)
            if name is not None and not (isinstance(name, str) and name):
                raise ValueError(f"{role} must name a column, got {name!r:.60}")
        for role in ("ignore", "features"):
            names = getattr(self, role)
            names = (names,) if isinstance(names, str) else names
            if not isinstance(names, Iterable):
                raise ValueError(f"{role} must name columns, got {names!r:.60}")
            object.__setattr__(self, role, tuple(names))
            for name in getattr(self, role):
                if not isinstance(name, str):
                    raise ValueError(f"{role} must name a column, got {name!r:.60}")

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Columns:
        """Make a value from :meth:`as_dict`; raise a ValueError for unknown names."""
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                raise ValueError(f"columns have no {name!r}; choose from {', '.join(known)}")
        return cls(**settings)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings that are given, as values for TOML and JSON."""
        settings = {name: value for name, value in asdict(self).items() if value}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in settings.items()}

    def __bool__(self) -> bool:
        """Whether anything is specified."""
        return bool(self.as_dict())

    def resolve(
        self,
        table: Mapping[str, str],
        place: Any,
        *,
        known: Mapping[str, str] | None = None,
        aside: Sequence[str] = (),
    ) -> ColumnRoles:
        """Determine the role of each column of a table.

        ``table`` has the names of the columns and the type of their values in words, empty for
        numbers; ``place`` is the location of the table, for messages. ``known`` has the columns of
        label, query, document and weight, if the table declares them itself: nothing is guessed
        then, and all other columns are features. Columns ``aside`` are read in addition to the
        data, such as that of a split. Raises a DataError if roles are ambiguous or missing.
        """
        return _Resolution(self, table, place, known, aside).roles()


@dataclass(frozen=True)
class ColumnRoles:
    """Role of each column of a table; made by :meth:`Columns.resolve`."""

    label: str
    qid: str
    doc_id: str | None
    weight: str | None
    features: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    row_weight: str | None = None
    position: str | None = None

    def __str__(self) -> str:
        roles = ((_WORDS[role], getattr(self, role)) for role in _WORDS)
        assigned = ", ".join(f"{word} = {on_one_line(name)}" for word, name in roles if name)
        features = f"{quantity(len(self.features), 'feature')}: {_list_names(self.features)}"
        left_out = f"; left out: {_list_names(self.left_out)}" if self.left_out else ""
        return f"Columns: {assigned}; {features}{left_out}"

    @property
    def special(self) -> dict[str, str]:
        """Columns of the label and query, and of the other roles that there are, by role."""
        return {role: name for role in _WORDS if (name := getattr(self, role)) is not None}


def check_distinct(names: Sequence[str], place: Any) -> None:
    """Raise a DataError if two columns have one name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"{place}: {count} columns are named {name!r}; rename them")


def check_named(names: Sequence[str], place: Any) -> None:
    """Raise a DataError if two columns have one name, or one has none."""
    check_distinct(names, place)
    if "" in names:
        raise DataError(
            f"{place}: column {names.index('') + 1} has no name; if it is the index of a frame, "
            "write the file with index=False"
        )


@dataclass
class _Resolution:
    """One resolution of columns; the fields are the parameters of :meth:`Columns.resolve`."""

    columns: Columns
    table: Mapping[str, str]
    place: Any
    known: Mapping[str, str] | None
    aside: Sequence[str]

    def __post_init__(self) -> None:
        for name in self.aside:
            self._check_exists(name)
        self.named = {role: name for role in _WORDS if (name := getattr(self.columns, role))}
        self.ignored = self._matching("ignore")

    def roles(self) -> ColumnRoles:
        found = dict.fromkeys(_WORDS) | self._given_roles() | self._guesses()
        for role in ROLES_OF_NUMBERS:
            self._check_number(role, found[role])
        features = self._features({name for name in found.values() if name is not None})
        used = {*found.values(), *features, *self.aside}
        left_out = tuple(name for name in self.table if name not in used)
        return ColumnRoles(**found, features=features, left_out=left_out)  # type: ignore[arg-type]

    def _given_roles(self) -> dict[str, str]:
        role_of: dict[str, str] = {}
        for role, name in self.named.items():
            self._check_exists(name)
            taken = role_of.setdefault(name, role)
            if taken != role:
                self._fail(f"column {name!r} cannot be both {_WORDS[taken]} and {_WORDS[role]}")
            if name in self.ignored or name in self.columns.features or name in self.aside:
                self._fail(f"column {name!r} cannot be both {_WORDS[role]} and something else")
        return self.named

    def _guesses(self) -> dict[str, str]:
        taken = {*self.named.values(), *self.ignored, *self.columns.features, *self.aside}
        if self.known is not None:
            free = {role: name for role, name in self.known.items() if name not in taken}
            guessed = {role: [name] for role, name in free.items()}
        else:
            guessed = {
                role: [n for n in self.table if n.lower() in names and n not in taken]
                for role, names in _GUESSES.items()
            }
        return {
            role: name
            for role in _WORDS
            if role not in self.named
            and (name := self._choose_one(role, guessed.get(role, []))) is not None
        }

    def _choose_one(self, role: str, names: list[str]) -> str | None:
        if len(names) == 1:
            return names[0]
        if names:
            either = " or ".join(map(repr, names))
            self._advise(
                f"the {_WORDS[role]} may be column {either}: say which, such as "
                f"{_option(role, names[0])}"
            )
        if role in _REQUIRED:
            self._advise(
                f"no column is named like the {_WORDS[role]} ({', '.join(_GUESSES[role])}) among "
                f"{_list_names(list(self.table))}: say which it is with {_option(role, 'NAME')}"
            )
        return None

    def _check_number(self, role: str, name: str | None) -> None:
        if name is not None and self.table[name]:
            self._fail(
                f"column {name!r} holds {self.table[name]}, but the {_WORDS[role]} must be a number"
            )

    def _features(self, special: set[str]) -> tuple[str, ...]:
        if self.columns.features:
            chosen = self._matching("features")
        else:
            chosen = [
                name  # but not the index that pandas stores in Parquet files
                for name in self.table
                if not (name.startswith("__index_level_") and name.endswith("__"))
            ]
        others = special.union(self.ignored, self.aside)
        features = tuple(name for name in chosen if name not in others)
        self._check_features(features)
        return features

    def _check_features(self, features: tuple[str, ...]) -> None:
        """Raise a DataError that names all columns that cannot be features, if there are any."""
        if not features:
            self._fail(
                f"no column is left to be a feature; columns are {_list_names([*self.table])}"
            )
        is_open = not self.columns.features and self.known is None
        found: dict[str, str] = {}
        for name in features:
            if self.table[name]:
                found[name] = f"column {name!r} holds {self.table[name]}, not numbers"
            elif is_open and (name.lower() == "id" or name.lower().endswith("_id")):
                found[name] = f"column {name!r} looks like an id, not like a feature"
        if not found:
            return
        problems = "; ".join(list(found.values())[:_SHOWN])
        numbers = [name for name in found if not self.table[name]]
        keep = (
            f"; if {numbers[0]!r} is a feature, use {_option('features', '*')}" if numbers else ""
        )
        self._advise(
            f"{problems}: leave {'it' if len(found) == 1 else 'them'} out with "
            f"{_option('ignore', ','.join(found))}, or say which names documents, such as "
            f"{_option('doc_id', next(iter(found)))}{keep}"
        )

    def _matching(self, what: str) -> list[str]:
        """Names of the columns that match one of the patterns, each of which must match."""
        matching: set[str] = set()
        for pattern in getattr(self.columns, what):
            # An exact column name matches only that column, even if it looks like a pattern.
            found = (
                {pattern}
                if pattern in self.table
                else {name for name in self.table if fnmatchcase(name, pattern)}
            )
            if not found:
                self._fail(
                    f"no column matches {pattern!r} of {what}; columns are "
                    f"{_list_names(list(self.table))}"
                )
            matching |= found
        return [name for name in self.table if name in matching]

    def _check_exists(self, name: str) -> None:
        if name not in self.table:
            self._fail(f"there is no column {name!r}; columns are {_list_names(list(self.table))}")

    def _advise(self, message: str) -> NoReturn:
        self._fail(f"{message} (in Python, Columns has the same names)")

    def _fail(self, message: str) -> NoReturn:
        raise DataError(f"{self.place}: {message}")


def _option(role: str, name: str) -> str:
    """Command-line option that sets the role of a column."""
    return f"--{role.replace('_', '-')} {shlex.quote(name)}"


def _list_names(names: Sequence[str]) -> str:
    shown = ", ".join(
        name if name == on_one_line(name) else repr(name)  # white space would be invisible
        for name in names[:_SHOWN]
    )
    more = len(names) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown
