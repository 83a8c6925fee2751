"""Times of the rows of data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Times(NamedTuple):
    """A column of times, or of anything else that says what came first."""

    column: str
    values: np.ndarray  # (rows,) in the order of the rows of the data
