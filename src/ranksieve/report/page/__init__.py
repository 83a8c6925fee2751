"""One self-contained HTML page with the tables and charts of a study or a decision."""
