"""Charts as SVG, one module for each kind: the page shows them, and files for papers have them.

Functions take the width in pixels: :data:`~ranksieve.report.charts.svg.PAGE` on the page, and
:data:`~ranksieve.report.charts.svg.COLUMN` for one column of a paper, where a pixel is 0.6 points.
"""
