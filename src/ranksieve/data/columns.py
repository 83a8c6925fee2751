"""Which columns of a table are labels, queries, documents, weights and features."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any, NoReturn, Union

from ranksieve.data.errors import DataError
from ranksieve.data.missing import Missing
from ranksieve.text import list_names, on_one_line, quantity

# Names by which columns are recognized, in lower case. A name of an earlier list goes before those
# of later lists; two names of one list are ambiguous.
_GUESSES: dict[str, tuple[tuple[str, ...], ...]] = {
    "label": ((
        "label", "relevance", "rel", "grade", "relevance_label", "relevance_grade", "judgment",
        "target",
    ),),
    "qid": (
        ("qid", "query_id", "queryid"),
        ("search_id", "searchid", "request_id", "requestid", "serp_id"),  # one list of results
        (
            "query", "query_hash", "group_id", "session_id", "sessionid", "session",
            "impression_id", "impressionid",
        ),
    ),
    "doc_id": (("doc_id", "docid", "document_id", "docno", "item_id", "product_id"),),
    "weight": (("weight", "sample_weight", "query_weight"),),
}  # fmt: skip
ROLES = {
    "label": "label", "qid": "query", "doc_id": "document", "weight": "weight",
    "row_weight": "weight of the row", "position": "position",
}  # fmt: skip
_REQUIRED = ("label", "qid")
ROLES_OF_NUMBERS = ("label", "weight", "row_weight", "position")  # the others are of ids
CATEGORIES, TEXT = "categories", "text"  # what columns hold, in words
_SHOWN = 8  # names in a message

ColumnsLike = Union["Columns", str, os.PathLike[str], None]
"""What stands for columns: a value, the path of a file, or None if all is guessed."""


@dataclass(frozen=True, repr=False)
class Columns:
    """Roles of the columns of a table, for Parquet, CSV, and pandas or polars frames.

    Wherever columns are expected, the path of a file that :meth:`save` wrote is accepted, too.

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
    categorical : str or sequence of str
        Features whose values are categories, such as ``"device"``: names, or patterns. They may be
        text, whole numbers or booleans. By default columns of a categorical type, and columns of
        text of 2 to 50 values, each in 50 rows or more on average.
    missing : str or Missing, optional
        How to treat missing values; see :class:`ranksieve.Missing`. An argument ``missing`` takes
        precedence.
    cost_unit : str, optional
        Unit of the costs of the features, such as ``"ms"``.

    Notes
    -----
    A column is recognized by its name, in upper or lower case: ``label``, ``relevance``, ``rel``,
    ``grade``, ``relevance_label``, ``relevance_grade``, ``judgment`` or ``target`` is the label;
    ``doc_id``, ``docid``, ``document_id``, ``docno``, ``item_id`` or ``product_id`` the document;
    ``weight``, ``sample_weight`` or ``query_weight`` the weight. The query is ``qid``, ``query_id``
    or ``queryid``; without these, ``search_id``, ``request_id`` or ``serp_id``; without these,
    ``session_id``, ``session``, ``impression_id``, ``query``, ``query_hash`` or ``group_id``. Two
    of a kind are refused, as is a table without label or query. A column that ``features`` or
    ``ignore`` names is not guessed to be something else.

    Without ``features``, every other column must be a number. A number whose column is called
    ``id`` or ends in ``_id`` is an id rather than a measurement, which a model would memorize: it
    is refused unless ``features`` or ``ignore`` names it. The index that pandas stores in Parquet
    files is left out. With ``features``, columns that match no pattern are left out, whatever they
    contain. The message about a table that is refused has a value of this class that reads it.

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
    >>> roles.columns
    Columns(label='grade', qid='query_id', ignore=['shop_id'])
    """

    label: str | None = None
    qid: str | None = None
    doc_id: str | None = None
    weight: str | None = None
    ignore: Sequence[str] = ()
    features: Sequence[str] = ()
    row_weight: str | None = None
    position: str | None = None
    missing: str | None = None
    cost_unit: str | None = None
    categorical: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.missing, Missing):
            object.__setattr__(self, "missing", self.missing.name)
        for role in (*ROLES, "cost_unit", "missing"):
            name = getattr(self, role)
            if name is not None and not (isinstance(name, str) and name):
                what = "name a column" if role in ROLES else "be a text"
                raise ValueError(f"{role} must {what}, got {name!r:.60}")
        for role in list_fields():
            names = getattr(self, role)
            names = (names,) if isinstance(names, str) else names
            if not isinstance(names, Iterable) or isinstance(names, (bytes, Mapping)):
                raise ValueError(f"{role} must name columns, got {names!r:.60}")
            object.__setattr__(self, role, tuple(names))
            for name in getattr(self, role):
                if not isinstance(name, str):
                    raise ValueError(f"{role} must name a column, got {name!r:.60}")
        Missing.make(self.missing)  # raises an error for an unknown policy

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items())
        return f"Columns({given})"

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Columns:
        """Make a value from :meth:`as_dict`; raise a ValueError for unknown names."""
        known = [field.name for field in fields(Columns)]
        for name in settings:
            if name not in known:
                raise ValueError(f"columns have no {name!r}; choose from {', '.join(known)}")
        return Columns(**settings)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings that are given, as values for TOML and JSON."""
        settings = {field.name: getattr(self, field.name) for field in fields(Columns)}
        given = {name: value for name, value in settings.items() if value}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in given.items()}

    @classmethod
    def make(cls, value: ColumnsLike) -> Columns:
        """Make a value from the path of a file, or from nothing; columns stay what they are."""
        if value is None or isinstance(value, Columns):
            return Columns() if value is None else value
        if isinstance(value, (str, os.PathLike)):
            return Columns.load(value)
        raise ValueError(f"columns must be Columns or the path of a file, got {value!r:.60}")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Columns:
        """Read a file that :meth:`save`, ``ranksieve inspect`` or a person wrote, in TOML.

        Raises a DataError that names the file and the setting if there is something wrong.
        """
        from ranksieve.io.columns_file import read_columns

        return read_columns(path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file in TOML, with comments for those who edit it.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from ranksieve import Columns
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "columns.toml"
        >>> Columns(label="grade", ignore=["url", "debug_*"]).save(path)
        >>> Columns.load(path)
        Columns(label='grade', ignore=['url', 'debug_*'])
        """
        from ranksieve.io.columns_file import write_columns

        write_columns(self, path)

    def __bool__(self) -> bool:
        """Whether anything is specified."""
        return bool(self.as_dict())

    def over(self, others: Columns) -> Columns:
        """These columns, completed by those of others that do not contradict them.

        Both lists of columns to leave out are joined.

        Examples
        --------
        >>> from ranksieve import Columns
        >>> file = Columns(label="grade", qid="session", ignore=["clicked", "url"])
        >>> Columns(label="clicked", ignore="shop").over(file)
        Columns(label='clicked', qid='session', ignore=['shop', 'url'])
        """
        roles = {name for role in ROLES if (name := getattr(self, role))}
        settings: dict[str, Any] = {}
        for name, value in others.as_dict().items():
            if name in ROLES and value in roles.union(self.ignore, self.features):
                continue
            if isinstance(value, list):
                taken = roles.union(self.features if name == "ignore" else self.ignore)
                value = [column for column in value if column not in taken]
            settings[name] = value
        settings |= {name: value for name, value in self.as_dict().items() if name != "ignore"}
        ignore = dict.fromkeys([*self.ignore, *settings.get("ignore", ())])
        return Columns.from_dict(settings | {"ignore": list(ignore)})

    def resolve(
        self,
        table: Mapping[str, str],
        place: Any,
        *,
        known: Mapping[str, str] | None = None,
        aside: Sequence[str] = (),
        needs_label: bool = True,
        has_few: Callable[[str], bool] = lambda name: False,
    ) -> ColumnRoles:
        """Determine the role of each column of a table.

        ``table`` has the names of the columns and the type of their values in words, empty for
        numbers; ``place`` is the location of the table, for messages. ``known`` has the columns of
        label, query, document and weight, if the table declares them itself: nothing is guessed
        then, and all other columns are features. Columns ``aside`` are read in addition to the
        data, such as that of a split. ``needs_label`` says whether there must be a label, and
        ``has_few`` whether a column of text has so few values that they are categories; it is asked
        only about columns that would be features.

        Raises a DataError if roles are ambiguous or missing; if that is not because of what these
        columns say, it is a :class:`ColumnsError`.
        """
        return _Resolution(self, table, place, known, aside, needs_label, has_few).roles()


def list_fields() -> tuple[str, ...]:
    """Fields of :class:`Columns` that are lists of names or patterns."""
    return tuple(field.name for field in fields(Columns) if field.default == ())


class ColumnsError(DataError):
    """A table of which it is not clear what its columns are, and what to say to read it.

    Attributes
    ----------
    problems : str
        What is not clear, and in which table.
    hints : list of (str, str, str)
        What else may be meant: a text, and the name and the value of the setting that it ends with.
    given, complete : Columns
        What was said, and what would read the table. A column that cannot be guessed is called
        ``LABEL`` or ``QID``.
    is_guess : bool
        Whether roles are unclear; otherwise some columns cannot be features, and no more.
    unfit : dict
        Columns that cannot be features, and what they hold.
    """

    problems: str
    hints: list[tuple[str, str, str]]
    given: Columns
    complete: Columns
    is_guess: bool
    unfit: dict[str, str]

    @classmethod
    def of(
        cls, problems: str, hints: list[tuple[str, str, str]], complete: Columns, **others: Any
    ) -> ColumnsError:
        """Make the error, with a message for Python and these attributes."""
        hinted = "".join(f"; {text} {name}={value!r}" for text, name, value in hints)
        error = cls(f"{problems}; to read it, use columns={complete!r}{hinted}")
        error.__dict__.update(others, problems=problems, hints=hints, complete=complete)
        return error


@dataclass(frozen=True)
class ColumnRoles:
    """Role of each column of a table; made by :meth:`Columns.resolve`."""

    label: str | None
    qid: str
    doc_id: str | None
    weight: str | None
    features: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    row_weight: str | None = None
    position: str | None = None
    categorical: tuple[str, ...] = ()  # features that are categories
    columns: Columns = Columns()
    """Columns that say all of this without any guess, for other tables of the same kind."""

    def __str__(self) -> str:
        roles = ((ROLES[role], getattr(self, role)) for role in ROLES)
        assigned = ", ".join(f"{word} = {on_one_line(name)}" for word, name in roles if name)
        features = f"{quantity(len(self.features), 'feature')}: {list_names(self.features)}"
        parts = {"categories": self.categorical, "left out": self.left_out}
        others = [f"; {word}: {list_names(names)}" for word, names in parts.items() if names]
        return f"Columns: {assigned}; {features}{''.join(others)}"

    @property
    def special(self) -> dict[str, str]:
        """Columns of the label and query, and of the other roles that there are, by role."""
        return {role: name for role in ROLES if (name := getattr(self, role)) is not None}


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
    needs_label: bool
    has_few: Callable[[str], bool]

    def __post_init__(self) -> None:
        for name in self.aside:
            self._check_exists(name, "to divide by")
        self.named = {role: name for role in ROLES if (name := getattr(self.columns, role))}
        self.ignored = self._matching("ignore")
        self.required = _REQUIRED if self.needs_label else ("qid",)
        self.problems: list[str] = []  # what is not clear, although nothing that was said is wrong
        self.hints: list[tuple[str, str, str]] = []
        self.rivals: list[str] = []  # which may have a role that another column was given

    def roles(self) -> ColumnRoles:
        found = dict.fromkeys(ROLES) | self._given_roles() | self._guesses()
        for role in ROLES_OF_NUMBERS:
            self._check_number(role, found[role])
        features = self._features({name for name in found.values() if name is not None})
        categorical = self._categorical(features)
        numbers = tuple(name for name in features if name not in categorical)
        unfit = self._unfit(numbers, has_documents=found["doc_id"] is not None)
        if len(unfit) == len(features):
            problems = "; ".join([*self.problems, *unfit.values()][:_SHOWN])
            self._fail(
                f"no column is left to be a feature; columns are {list_names([*self.table])}"
                + (f" ({problems})" if problems else "")
            )
        complete = replace(self._complete(found, unfit), categorical=categorical)
        if self.problems or unfit:
            raise ColumnsError.of(
                f"{self.place}: " + "; ".join([*self.problems, *_first(list(unfit.values()))]),
                self.hints,
                complete,
                given=self.columns,
                is_guess=bool(self.problems),
                unfit={name: self.table[name] or "an id, by its name" for name in unfit},
            )
        used = {*found.values(), *features, *self.aside}
        left_out = tuple(name for name in self.table if name not in used)
        return ColumnRoles(
            **found,  # type: ignore[arg-type]
            features=features,
            left_out=left_out,
            categorical=tuple(categorical),
            columns=replace(complete, missing=None, ignore=[*complete.ignore, *self.aside]),
        )

    def _given_roles(self) -> dict[str, str]:
        role_of: dict[str, str] = {}
        for role, name in self.named.items():
            self._check_exists(name, f"for {role}")
            taken = role_of.setdefault(name, role)
            if taken != role:
                self._fail(f"column {name!r} cannot be both {ROLES[taken]} and {ROLES[role]}")
            if name in self.ignored or name in self.columns.features or name in self.aside:
                self._fail(f"column {name!r} cannot be both {ROLES[role]} and something else")
        return self.named

    def _guesses(self) -> dict[str, str]:
        taken = {*self.named.values(), *self.ignored, *self.columns.features, *self.aside}
        if self.known is not None:
            guessed = {role: [name] for role, name in self.known.items() if name not in taken}
        else:
            guessed = {role: self._candidates(role, taken) for role in _GUESSES}
        return {
            role: name
            for role in ROLES
            if role not in self.named
            and (name := self._choose_one(role, guessed.get(role, []))) is not None
        }

    def _candidates(self, role: str, taken: set[str]) -> list[str]:
        """Columns that are named like a role, by the first of its lists that has any."""
        free = [name for name in self.table if name not in taken]
        for known in _GUESSES[role]:
            found = [name for name in free if name.lower() in known]
            if found:
                return found
        return []

    def _choose_one(self, role: str, names: list[str]) -> str | None:
        if len(names) > 1:
            either = " or ".join(map(repr, names))
            self.problems.append(f"the {ROLES[role]} may be column {either}")
            self.rivals += names[1:]
            self.hints.append((f"if that is not the {ROLES[role]}, use", role, names[1]))
        elif not names and role in self.required:
            known = ", ".join(name for names in _GUESSES[role] for name in names)
            self.problems.append(
                f"no column is named like the {ROLES[role]} ({known}) among "
                f"{list_names(list(self.table))}"
            )
            self.hints.append((f"put in the name of the {ROLES[role]}:", role, role.upper()))
        return names[0] if names else None

    def _check_number(self, role: str, name: str | None) -> None:
        if name is not None and self.table[name]:
            self._fail(
                f"column {name!r} holds {self.table[name]}, but the {ROLES[role]} must be a number"
            )

    def _features(self, special: set[str]) -> tuple[str, ...]:
        if self.columns.features:
            listed = {*self._matching("features"), *self._matching("categorical")}
            chosen = [name for name in self.table if name in listed]
        else:
            chosen = [
                name  # but not the index that pandas stores in Parquet files
                for name in self.table
                if not (name.startswith("__index_level_") and name.endswith("__"))
            ]
        others = special.union(self.ignored, self.aside, self.rivals)
        return tuple(name for name in chosen if name not in others)

    def _categorical(self, features: tuple[str, ...]) -> list[str]:
        """Features that are declared to be categories, or are taken for such."""
        declared = self._matching("categorical")
        for name in declared:
            if name not in features:
                self._fail(f"column {name!r} cannot be both a category and something else")
            if self.table[name] and not _may_be_category(self.table[name]):
                self._fail(
                    f"column {name!r} holds {self.table[name]}, which cannot be categories: "
                    "convert it to text"
                )
        return [
            name
            for name in features
            if name in declared
            or self.table[name] == CATEGORIES
            or (self.table[name].startswith(TEXT) and not _is_id(name) and self.has_few(name))
        ]

    def _unfit(self, features: tuple[str, ...], *, has_documents: bool) -> dict[str, str]:
        """Columns that cannot be features, each with the reason."""
        is_open = not self.columns.features and self.known is None
        found = {
            name: reason
            for name in features
            if (reason := why_unfit(name, self.table[name], is_open=is_open))
        }
        ids = [name for name in found if not self.table[name]]
        if found and not has_documents:
            name = ids[0] if ids else next(iter(found))
            self.hints.append(
                (f"if {name!r} names documents, do not ignore it, but add", "doc_id", name)
            )
        for name in [name for name in found if self.table[name].startswith(TEXT)][:1]:
            self.hints.append(
                (f"if {name!r} is a category, do not ignore it, but add", "categorical", name)
            )
        if ids:
            self.hints.append(
                (f"if {ids[0]!r} is a feature, do not ignore it, but add", "features", "*")
            )
        return found

    def _complete(self, found: Mapping[str, str | None], unfit: Iterable[str]) -> Columns:
        """Columns that say all roles, with placeholders, and leave out what is unfit."""
        roles: dict[str, Any] = {role: name for role, name in found.items() if name is not None}
        for role in self.required:
            roles.setdefault(role, role.upper())
        return replace(self.columns, **roles, ignore=[*self.columns.ignore, *self.rivals, *unfit])

    def _matching(self, what: str) -> list[str]:
        """Names of the columns that match one of the patterns, each of which must match."""
        return match_columns(getattr(self.columns, what), list(self.table), what, self.place)

    def _check_exists(self, name: str, use: str) -> None:
        if name not in self.table:
            known = list_names(list(self.table))
            self._fail(f"there is no column {name!r} {use}; columns are {known}")

    def _fail(self, message: str) -> NoReturn:
        raise DataError(f"{self.place}: {message}")


def matches(pattern: str, names: Iterable[str]) -> set[str]:
    """Names that a pattern matches; a name matches only itself, even if it looks like a pattern."""
    if pattern in names:
        return {pattern}
    return {name for name in names if fnmatchcase(name, pattern)}


def match_columns(
    patterns: Sequence[str], names: Sequence[str], what: str, place: Any
) -> list[str]:
    """Names of columns that match one of the patterns; a DataError if a pattern matches none."""
    matching: set[str] = set()
    for pattern in patterns:
        found = matches(pattern, names)
        if not found:
            raise DataError(
                f"{place}: no column matches {pattern!r} of {what}; columns are {list_names(names)}"
            )
        matching |= found
    return [name for name in names if name in matching]


def _is_id(name: str) -> bool:
    return name.lower() == "id" or name.lower().endswith("_id")


def _may_be_category(held: str) -> bool:
    return held == CATEGORIES or held.startswith(TEXT)


def why_unfit(name: str, held: str, *, is_open: bool) -> str | None:
    """Why a column cannot be a feature; ids cannot unless they are listed as features."""
    if held:
        return f"column {name!r} holds {held}, not numbers"
    if is_open and _is_id(name):
        return f"column {name!r} looks like an id, not like a feature"
    return None


def _first(texts: list[str]) -> list[str]:
    more = len(texts) - _SHOWN
    return [*texts[:_SHOWN], f"and {more:,} more such columns"] if more > 0 else texts
