"""Ids that are read from text, which has no types: decided once for all ids of a column."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

# Without leading zeros, which identifiers may have, and without a fraction other than 0: 1.10 may
# be the tenth part of something, and 1.1 the first.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(?:\.0+)?")
_DIGITS = 18  # that fit into an integer


def are_whole_numbers(ids: Iterable[str]) -> bool:
    """Whether all ids are whole numbers, with or without zeros after a decimal point."""
    return all(map(_WHOLE.fullmatch, ids))


def whole_number(text: str) -> str:
    """Write a whole number without a decimal point; return other text unchanged."""
    found = _WHOLE.fullmatch(text)
    return text if found is None or found[0] == found[1] else found[1]


def settle_text_ids(ids: np.ndarray) -> np.ndarray:
    """Integers if all ids of a column are whole numbers, else the text as it is.

    So 1 and 1.0 are one id, but 1 and 01 are two. If numbers have too many digits for integers,
    they stay text, without zeros after a decimal point.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.io.ids import settle_text_ids
    >>> for texts in (["1", "1.0", "2"], ["1", "1.0", "02"], ["1.0", "9" * 20]):
    ...     print(settle_text_ids(np.array(texts, dtype=object)).tolist())
    [1, 1, 2]
    ['1', '1.0', '02']
    ['1', '99999999999999999999']
    """
    distinct = set(ids.tolist())
    if not are_whole_numbers(distinct):
        return ids
    numbers = {text: whole_number(text) for text in distinct}
    settled = np.array([numbers[text] for text in ids.tolist()], dtype=object)
    fit = all(len(number.lstrip("-")) <= _DIGITS for number in numbers.values())
    return settled.astype(np.int64) if fit else settled
