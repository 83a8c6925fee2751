"""Least squares on columns that enter and leave a model, from their products alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class SweptProducts:
    r"""Model of some columns, and what it explains if a column enters or leaves.

    Let :math:`A = X'X + \lambda I` be the products of all columns and :math:`b = X'y` those with
    the labels. The model of the columns S explains :math:`b_S' A_{SS}^{-1} b_S` of the labels'
    squares. All is read from one matrix M: A with b as its last row and column, swept on S,

    .. math:: \begin{pmatrix} -A_{SS}^{-1} & H \\ H' & A_{OO} - A_{OS} H \end{pmatrix},
              \qquad H = A_{SS}^{-1} A_{SO},

    where O are all other columns and that of b. A column k that enters or leaves changes what is
    explained by :math:`M_{kb}^2 / M_{kk}`.

    Parameters
    ----------
    products : array of shape (columns + 1, columns + 1)
        A, with b as its last row and column. The last entry is not used.

    Attributes
    ----------
    chosen : array of shape (columns,)
        Mask of the columns of the model.
    explained : float
        What the model explains.

    Notes
    -----
    A column enters or leaves in O(p^2) time for p columns.

    References
    ----------
    J. H. Goodnight. A tutorial on the SWEEP operator. The American Statistician 33(3), 1979.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve.solvers.rankrls.swept import SweptProducts
    >>> model = SweptProducts(np.array([[2.0, 1.0, 4.0], [1.0, 2.0, 1.0], [4.0, 1.0, 0.0]]))
    >>> model.toggle_gains()  # of what the first or the second column explains alone
    array([8. , 0.5])
    >>> model.toggle(0)
    >>> model.explained, model.toggle_gains().round(3)
    (8.0, array([-8.   ,  0.667]))
    """

    def __init__(self, products: np.ndarray) -> None:
        self.swept = products.copy()
        self.chosen = np.zeros(len(products) - 1, dtype=bool)
        self.explained = 0.0

    def copy(self) -> SweptProducts:
        """An independent copy."""
        other = SweptProducts(self.swept)
        other.chosen, other.explained = self.chosen.copy(), self.explained
        return other

    def part(self, columns: Sequence[int]) -> SweptProducts:
        """The same model as far as some columns outside it are concerned, which become 0, 1, ..."""
        own = np.array([*columns, len(self.chosen)], dtype=np.intp)
        return SweptProducts(self.swept[np.ix_(own, own)])

    def toggle(self, *columns: int) -> None:
        """Let each column enter the model or, if it is in it, leave."""
        for k in columns:
            row = self.swept[k].copy()
            scaled = row / row[k]
            self.explained += float(row[-1] * scaled[-1])
            self.swept -= np.outer(row, scaled)
            self.swept[k] = self.swept[:, k] = -scaled if self.chosen[k] else scaled
            self.swept[k, k] = -1 / row[k]
            self.chosen[k] = not self.chosen[k]

    def toggle_gains(self) -> np.ndarray:
        """Change of what is explained if a column enters, or leaves: (columns,)."""
        return self.swept[:-1, -1] ** 2 / np.diag(self.swept)[:-1]

    def set_gain(self, columns: Sequence[int]) -> float:
        """Change if several columns enter, or leave, together."""
        own = np.array(columns, dtype=np.intp)
        labels = self.swept[own, -1]
        return float(labels @ np.linalg.solve(self.swept[np.ix_(own, own)], labels))

    def swap_gains(self, gone: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Change if a column of the model leaves and another one enters: (gone, new)."""
        diagonal, labels = np.diag(self.swept), self.swept[:, -1]
        between = self.swept[np.ix_(gone, new)]
        solved = between / diagonal[gone][:, None]
        entering = (labels[new] - solved * labels[gone][:, None]) ** 2
        return self.toggle_gains()[gone][:, None] + entering / (diagonal[new] - solved * between)
