"""Columns that a model or another result remembers, to find them in a new table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ranksieve.data.columns import (
    ROLES,
    ColumnRoles,
    Columns,
    ColumnsLike,
    matches,
    why_unfit,
)
from ranksieve.data.errors import DataError


@dataclass(frozen=True, repr=False)
class RememberedColumns(Columns):
    """Columns of an earlier table, completed by what is said about a new one.

    Nothing is guessed about the new table. It may lack columns that were left out, and columns
    that are new to it and cannot be features are left out.

    Parameters
    ----------
    given : Columns
        What is said about the new table. If that includes label and query, nothing is remembered.
    what : str
        What remembers the columns, for messages.
    names : sequence of str
        Features that the new table must have.
    only_names : bool
        Whether these are all features to read.
    needs_label : bool
        Whether the new table must have labels and weights.
    """

    given: Columns = field(default_factory=Columns)
    what: str = ""
    names: Sequence[str] = ()
    only_names: bool = False
    needs_label: bool = True
    remembers: bool = True

    @classmethod
    def of(cls, remembered: Columns | None, given: ColumnsLike, **others: Any) -> RememberedColumns:
        """Complete what is said about a new table by the columns that are remembered, if any."""
        said = Columns.make(given)
        remembers = remembered is not None and not (said.label and said.qid)
        merged = said.over(remembered) if remembered is not None and remembers else said
        settings = merged.as_dict() | {"missing": None}  # which is remembered apart
        return cls(**settings, given=said, remembers=remembers, **others)

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
        """Determine the role of each column of a new table; see :meth:`Columns.resolve`."""
        for name in self.names:
            if name not in table:
                raise DataError(f"{place}: it lacks feature {name!r}, which {self.what} needs")
        if known is None and self.remembers:
            known = {}  # nothing is guessed
            roles = {role: self._find(role, table, place) for role in ROLES}
        else:
            roles = {role: getattr(self.given, role) for role in ROLES}
            if not self.needs_label and roles["label"] not in table:
                roles["label"] = None
        settings: dict[str, Any] = self.as_dict() | roles
        settings |= {
            "ignore": self._ignored(table, roles),
            "features": self._listed(table),
            "categorical": self._categories(table),
        }
        needs_label = needs_label and self.needs_label
        found = Columns(**settings)
        return found.resolve(
            table, place, known=known, aside=aside, needs_label=needs_label, has_few=has_few
        )

    def _find(self, role: str, table: Mapping[str, str], place: Any) -> str | None:
        name: str | None = getattr(self, role)
        if name is None or name in table:
            return name
        is_optional = role in ("doc_id", "position") or (role != "qid" and not self.needs_label)
        if is_optional or getattr(self.given, role) is not None:
            return None if is_optional else name  # what is said is checked like all that is said
        option = f"--{role.replace('_', '-')} NAME"
        raise DataError(
            f"{place}: there is no column {name!r}, which {self.what} remembers as the "
            f"{ROLES[role]}: name it with {option} ({role}='NAME'), or all columns with --columns "
            "FILE (columns='FILE')"
        )

    def _ignored(self, table: Mapping[str, str], roles: Mapping[str, str | None]) -> list[str]:
        """What is to be left out of the columns that there are, also if it cannot be a feature."""
        if not self.remembers:
            return list(self.ignore)
        taken = {*roles.values(), *self.names, *self.features, *self._categories(table)}
        unfit = [
            name
            for name, held in table.items()
            if name not in taken and why_unfit(name, held, is_open=True)
        ]
        there = [pattern for pattern in self.ignore if matches(pattern, table)]
        return list(dict.fromkeys([*there, *unfit]))

    def _categories(self, table: Mapping[str, str]) -> list[str]:
        """Categories among the columns to read."""
        there = {name for pattern in self.categorical for name in matches(pattern, table)}
        return [
            name for name in table if name in there and (not self.only_names or name in self.names)
        ]

    def _listed(self, table: Mapping[str, str]) -> list[str]:
        """Features to read, if not all; the table may lack some that nobody needs."""
        if self.only_names:
            return list(self.names)
        if not self.remembers or self.given.features:
            return list(self.features)
        there = [pattern for pattern in self.features if matches(pattern, table)]
        return list(dict.fromkeys([*self.names, *there])) if self.features else []
