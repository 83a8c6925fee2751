"""Charts of the page as SVG, one module for each kind."""
