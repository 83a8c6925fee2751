"""Statistics: sums over queries that selectors and rankers ask an engine for."""
