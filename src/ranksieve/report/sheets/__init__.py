"""Tables as values: one function for each kind of table, from results to a sheet."""
