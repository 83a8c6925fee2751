"""Charts of the page, as SVG: a file for each kind."""
