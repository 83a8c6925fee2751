"""Charts as files for papers: SVG that needs no style sheet, and PDF."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranksieve.io.files import replace_on_success
from ranksieve.report.charts.svg import SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Affine2D, Transform

POINTS = 0.6
"""Points of a pixel: text of 12 pixels has 7.2 points, and 420 pixels are 3.5 inches."""
_FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_RULE = re.compile(r"^(\.?[\w-]+) \{ (.*) \}$", re.MULTILINE)  # of one class or element
_COLOR = re.compile(r"^  (--[\w-]+): light-dark\((#\w+),", re.MULTILINE)
_STEP = re.compile(r"[MhvzHV]|-?\d*\.?\d+")
_NAMED = re.compile(r"(\w+)\(([^)]*)\)")
_ONLY_ON_PAGES = ("class", "role", "aria-label", "data-tip", "data-grid", "data-stop")
# Warnings about glyphs that the font lacks.
_NO_GLYPH = ("Glyph .* missing from", "Matplotlib currently does not support .* natively")


def to_svg(drawing: str) -> str:
    """Return a drawing of the page as an SVG file, in the light colors of the page, on white."""
    root = _with_style(drawing)
    root.insert(0, ET.Element("rect", width="100%", height="100%", fill="white"))
    ET.register_namespace("", "http://www.w3.org/2000/svg")
    for side in ("width", "height"):
        root.set(side, f"{POINTS * float(root.get(side, 0)):g}pt")
    root.set("xmlns", "http://www.w3.org/2000/svg")
    root.set("font-family", _FONTS)
    return ET.tostring(root, encoding="unicode") + "\n"


def write_pdf(drawing: str, path: Path) -> None:
    """Write a drawing of the page as PDF; the same drawing gives the same bytes."""
    import matplotlib as mpl

    figure = paint(drawing)
    with (
        mpl.rc_context({"pdf.fonttype": 42}),
        replace_on_success(path) as temporary,
        warnings.catch_warnings(),
    ):
        for message in _NO_GLYPH:
            warnings.filterwarnings("ignore", message)
        figure.savefig(temporary, format="pdf", metadata={"CreationDate": None})


def paint(drawing: str) -> Figure:
    """Return a drawing of the page as a figure of matplotlib."""
    from matplotlib.figure import Figure

    root = _with_style(drawing)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    figure = Figure(figsize=(width * POINTS / 72, height * POINTS / 72))
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.set_axis_off()
    _paint(ax, root, ax.transData)
    return figure


def _with_style(drawing: str) -> ET.Element:
    """Elements of a drawing, with attributes in place of classes."""
    root = ET.fromstring(drawing)
    colors, rules = _style_sheet()
    for element in root.iter():
        found: dict[str, str] = {}
        names = {element.tag, *(f".{name}" for name in element.get("class", "").split())}
        for name, declarations in rules:
            if name in names:
                found |= declarations
        known = colors | {"--color": colors.get(found.get("--color", ""), "black")}
        for name, value in found.items():
            if not name.startswith("--") and name not in element.attrib:
                element.set(name, known.get(value, value))
        for name in _ONLY_ON_PAGES:
            element.attrib.pop(name, None)
    return root


@cache
def _style_sheet() -> tuple[dict[str, str], list[tuple[str, dict[str, str]]]]:
    """Colors by name, and the rules of the style sheet of charts, in order."""
    text = (files("ranksieve.report") / "templates" / "charts.css").read_text(encoding="utf-8")
    rules = [
        (name, dict(one.split(": ") for one in body.rstrip(";").split("; ")))
        for name, body in _RULE.findall(re.sub(r"var\((--[\w-]+)\)", r"\1", text))
    ]
    return dict(_COLOR.findall(text)), rules


def _paint(ax: Axes, parent: ET.Element, transform: Transform, box: Any = None) -> None:
    """Paint the elements inside another one, in order, as far as they are in a box."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline
    from matplotlib.transforms import Bbox, TransformedBbox

    for element in parent:
        at = {name: float(element.get(name, 0)) for name in ("x", "y", "width", "height")}
        own = _own_transform(element)
        if element.tag == "text":
            _write(ax, element, at, own + transform)
        elif element.tag == "g":
            _paint(ax, element, own + transform, box)
        elif element.tag == "svg":  # its parts end at its edges
            inside = Bbox.from_bounds(at["x"], at["y"], at["width"], at["height"])
            clipped = TransformedBbox(inside, transform)
            _paint(ax, element, own.translate(at["x"], at["y"]) + transform, clipped)
        else:
            if element.tag == "circle":
                center = float(element.get("cx", 0)), float(element.get("cy", 0))
                outline = Outline.circle(center, float(element.get("r", 0)))
            else:
                points, codes = zip(*_steps(element, at), strict=True)
                outline = Outline(points, codes)
            patch = PathPatch(outline, transform=own + transform, **_ink(element))
            ax.add_patch(patch)
            patch.set_clip_box(box)


def _own_transform(element: ET.Element) -> Affine2D:
    """What an element's attribute says, of which the last part is applied first."""
    from matplotlib.transforms import Affine2D

    own = Affine2D()
    for what, numbers in reversed(_NAMED.findall(element.get("transform", ""))):
        values = list(map(float, numbers.split()))
        if what == "translate":
            own.translate(*values)
        elif what == "scale":
            own.scale(*values)
        else:
            own.rotate_deg(*values)
    return own


def _steps(element: ET.Element, at: dict[str, float]) -> Iterator[tuple[tuple[float, float], int]]:
    """Points of a line, a rectangle or a path, and matplotlib's codes for moving and drawing."""
    move, draw, close = 1, 2, 79
    if element.tag == "line":
        yield (float(element.get("x1", 0)), float(element.get("y1", 0))), move
        yield (float(element.get("x2", 0)), float(element.get("y2", 0))), draw
        return
    x, y = at["x"], at["y"]
    steps = f"M{x} {y}h{at['width']}v{at['height']}h{-at['width']}z"
    tokens = iter(_STEP.findall(element.get("d", steps)))
    step, code = "M", move
    for token in tokens:
        if token == "z":
            yield (x, y), close
            continue
        if token in "Mhv":
            step, token = token, next(tokens)
            code = move if step == "M" else draw
        if step == "M":
            x, y = float(token), float(next(tokens))
        elif step == "h":
            x += float(token)
        else:
            y += float(token)
        yield (x, y), code
        code = draw


def _ink(element: ET.Element) -> dict[str, Any]:
    """Colors and line of a shape."""
    fill, edge = element.get("fill", "black"), element.get("stroke", "none")
    width = float(element.get("stroke-width", 1)) * POINTS
    dashes = [
        float(length) * POINTS / width for length in element.get("stroke-dasharray", "").split()
    ]
    return {
        "facecolor": "none" if fill == "none" else (fill, float(element.get("fill-opacity", 1))),
        "edgecolor": edge,
        "linewidth": 0.0 if edge == "none" else width,
        "linestyle": (0, dashes) if dashes else "-",
    }


def _write(ax: Axes, element: ET.Element, at: dict[str, float], transform: Transform) -> None:
    """Write a text, whose names are no formulas."""
    turned = re.search(r"rotate\(([^)]*)\)", element.get("transform", ""))
    ax.text(
        at["x"],
        at["y"],
        element.text or "",
        transform=transform,
        rotation=-float(turned[1]) if turned else 0.0,
        rotation_mode="anchor",
        ha={"middle": "center", "end": "right"}.get(element.get("text-anchor", ""), "left"),
        va="baseline",
        fontsize=SMALL * POINTS,
        color=element.get("fill"),
        weight="bold" if element.get("font-weight") else "normal",
        parse_math=False,
    )
