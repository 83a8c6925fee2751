"""A recommendation on the log of the demo, and checks of it in each state."""

import pytest

from ranksieve import recommend
from ranksieve.data.columns import Columns
from ranksieve.datasets import write_demo_table
from ranksieve.recommendation import check

CHANGED = ["bm25_body", "embedding_cosine"]  # whose units change
COLUMNS = Columns(
    label="grade",
    qid="session_id",
    features=[
        *("bm25_title", "bm25_body", "bm25_anchor", "bm25_url", "embedding_cosine", "clicks_30d"),
        *("pagerank", "freshness_days", "url_depth", "title_length", "click_rate_7d"),
    ],
)


@pytest.fixture(scope="session")
def demo_files(tmp_path_factory):
    return write_demo_table(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="session")
def demo_recommendation(demo_files, tmp_path_factory):
    """The directory of a recommendation for few trees."""
    out = tmp_path_factory.mktemp("demo") / "recommendation"
    recommend(
        demo_files.log,
        margin=0.03,
        parameters={"lambdamart": {"n_estimators": 12, "num_leaves": 8}},
        details=False,
        selectors=["top"],
        folds=3,
        columns=COLUMNS,
        out=out,
    )
    return out


@pytest.fixture(scope="session")
def demo_checks(demo_files, demo_recommendation):
    """Checks by name of the data."""
    return {
        name: check(demo_recommendation, getattr(demo_files, name), columns=COLUMNS)
        for name in ("later", "changed", "few", "log")
    }
