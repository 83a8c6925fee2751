"""How well two sources of labels agree, such as ratings of a language model and of people."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ranksieve.data import DataError, RankingData
from ranksieve.metrics import evaluate
from ranksieve.sums.similarity import Similarity
from ranksieve.sums.varying import vary_within_queries
from ranksieve.text import quantity


class Agreement(NamedTuple):
    """Agreement of two labels of the same documents, within queries."""

    n_queries: int  # with documents that have both labels
    n_documents: int  # that have both labels
    tau_b: float  # mean over the queries in which both differ; NaN if there are none
    # Share of the pairs with different reference labels that the others order alike, equal ones
    # count one half: mean over the queries with such pairs; NaN if there are none.
    agreeing: float

    @property
    def sentence(self) -> str:
        """The agreement for readers."""
        documents = quantity(self.n_documents, "document")
        found = f"{documents} of {quantity(self.n_queries, 'query', 'queries')} have both labels"
        if np.isnan(self.agreeing):
            return f"{found}, but in no query do they differ."
        tau = "" if np.isnan(self.tau_b) else f", Kendall's tau-b {self.tau_b:.2f}"
        return f"{found}: {self.agreeing:.0%} of the pairs are in the same order{tau}."


def label_agreement(labels: RankingData, reference: RankingData) -> Agreement:
    """Compare the labels of the documents that two data sets share, query by query.

    Documents are matched by query id and document id, which may be numbers on one side and text on
    the other. Their features do not matter.

    Parameters
    ----------
    labels : RankingData
        Such as ratings of a language model, from 0 to 1.
    reference : RankingData
        Such as grades of people.

    Examples
    --------
    >>> import numpy as np
    >>> from ranksieve import RankingData
    >>> from ranksieve.sums.agreement import label_agreement
    >>> X, qid = np.zeros((4, 1)), ["a", "a", "a", "b"]
    >>> model = RankingData(X, [0.9, 0.4, 0.1, 0.5], qid, doc_ids=[1, 2, 3, 1])
    >>> people = RankingData(X, [2, 0, 1, 1], qid, doc_ids=[1, 2, 3, 7])
    >>> found = label_agreement(model, people)
    >>> found.n_queries, found.n_documents, found.agreeing, round(found.tau_b, 2)
    (1, 3, 0.6666666666666667, 0.33)
    """
    common = {*_queries_of(labels)} & {*_queries_of(reference)}
    known = _labels_by_document(labels, common)
    both = [
        (place[0], known[place], label)
        for place, label in _labels_by_document(reference, common).items()
        if place in known
    ]
    if not both:
        return Agreement(0, 0, float("nan"), float("nan"))
    qid, own, theirs = (np.array(column) for column in zip(*both, strict=True))
    matched = RankingData(np.column_stack([own, theirs]), theirs, qid)
    differ = [
        vary_within_queries(np.ascontiguousarray(column), matched.query_ptr)
        for column in matched.X.T
    ]
    in_both = matched.take_queries(np.logical_and(*differ))
    tau_b = float(Similarity("tau_b")(in_both)[0, 1]) if in_both.n_queries else float("nan")
    wrong = evaluate(matched.y, matched.X[:, 0], matched.qid, "pairwise-error")
    agreeing = 1 - wrong.mean["PairwiseError"]
    return Agreement(matched.n_queries, matched.n_rows, tau_b, agreeing)


def _queries_of(data: RankingData) -> list[str]:
    return [str(query) for query in data.query_ids.tolist()]


def _labels_by_document(data: RankingData, queries: set[str]) -> dict[tuple[str, str], float]:
    """Label of each document of some queries, by query and document."""
    if data.doc_ids is None:
        raise DataError("labels can be compared only if both data sets have document ids")
    kept = data.take_queries(np.array([query in queries for query in _queries_of(data)], bool))
    documents = np.asarray(kept.doc_ids).tolist()
    found: dict[tuple[str, str], float] = {}
    rows = zip(kept.qid.tolist(), documents, kept.y.tolist(), strict=True)
    for query, document, label in rows:
        place = str(query), str(document)
        if place in found:
            raise DataError(
                f"document {document!r:.60} occurs twice in query {query!r:.60}, so its labels "
                "cannot be compared"
            )
        found[place] = label
    return found
