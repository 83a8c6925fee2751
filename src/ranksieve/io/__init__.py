"""Files: LETOR / SVMlight text, Parquet, CSV, feature logs of engines, and lists of scores.

``formats`` chooses a format by the names of files. ``letor`` has text and scores, and
``letor_blocks`` parses text in parallel; ``parquet`` and ``delimited`` (CSV) read the tables that
``tables`` joins; ``collecting`` groups rows that arrive in pieces. ``feature_logs`` reads responses
of search engines, and ``shards`` stores data larger than memory. ``selection`` has selected
features and ``model`` trained rankers, ``record_log`` the results of studies, and ``small_tables``
costs and groups of features. ``records`` reads typed records from JSON and checks them; ``files``
opens, compresses and safely replaces files of any kind.
"""
