"""The demo as a feature log: what comes back is the demo."""

import numpy as np
import pytest

from ranksieve import DataError, RankingData, load_demo
from ranksieve.datasets import write_demo_log
from ranksieve.datasets.demo import render_responses
from ranksieve.io.feature_logs import read_feature_log


@pytest.mark.slow
def test_the_demo_comes_back(tmp_path):
    """As documents of Elasticsearch; docs/feature-logs.md reads those of Solr."""
    log, judgments = write_demo_log(tmp_path / "new", "elasticsearch")
    data, summary = read_feature_log(log, judgments)
    demo, _ = load_demo()
    for attribute in ("X", "y", "qid", "doc_ids", "feature_names", "query_ptr"):
        np.testing.assert_array_equal(getattr(data, attribute), getattr(demo, attribute))
    assert (summary.n_unjudged, summary.n_unlogged, summary.n_missing) == (0, 0, 0)


def test_errors():
    with pytest.raises(ValueError, match="engine must be 'elasticsearch' or 'solr', got 'x'"):
        next(render_responses(load_demo()[0], "x"))
    with pytest.raises(DataError, match="responses need data with document ids"):
        next(render_responses(RankingData([[1.0]], [0], [1]), "solr"))
