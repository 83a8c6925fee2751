"""What answers say about weights of rows and positions: where they count, and where not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ranksieve.metrics import NDCG, MeanNDCG, parse_measure

_IN_WORDS = {"row_weights": "weights of rows", "positions": "positions"}


def describe_of_rows(of_rows: Collection[str], without: Mapping[str, Sequence[str]]) -> list[str]:
    """Return sentences about what the rows have, and the selectors that cannot use it.

    Examples
    --------
    >>> from ranksieve.experiments.of_rows import describe_of_rows
    >>> describe_of_rows(["positions"], {"positions": ["gas-e", "ig"]})
    ['Selected without positions: gas-e, ig.']
    """
    weighted = "row_weights" in of_rows
    sentences = ["Documents count by the weights of their rows."] if weighted else []
    for name, selectors in without.items():
        if selectors:
            sentences.append(f"Selected without {_IN_WORDS[name]}: {', '.join(selectors)}.")
    return sentences


def caution_of_rows(of_rows: Collection[str], measures: Iterable[str]) -> list[str]:
    """Return sentences about what means of measures are not, if labels are clicks.

    Examples
    --------
    >>> from ranksieve.experiments.of_rows import caution_of_rows
    >>> caution_of_rows(["positions", "row_weights"], ["dcg@10"])
    []
    """
    if "row_weights" in of_rows:
        parsed = map(parse_measure, measures)
        names = [own.name for own in parsed if isinstance(own, (NDCG, MeanNDCG))]
        return [
            f"{name} is normalized by the weighted labels: if these are clicks, its mean is not "
            "that of complete judgments, but that of dcg@10 is."
            for name in names
        ]
    if "positions" in of_rows:
        return [
            "The measure counts labels as they are: if these are clicks, it favors what was shown "
            "first, unless rows have weights (--row-weight)."
        ]
    return []
