"""Feature logs of search engines, joined with judgments."""

from ranksieve.io.feature_logs.judgments import Judgments, read_judgments
from ranksieve.io.feature_logs.reading import LogSummary, read_feature_log

__all__ = ["Judgments", "LogSummary", "read_feature_log", "read_judgments"]
