"""A line chart as SVG: text made by one pure function, readable on light and dark pages, the same bytes for the same input.

    chart(lines, title=..., x=..., y=...) -> str

The picture brings its own background and follows the reader's colour scheme, so that it never stands dark on dark. The lines
differ in colour (Okabe and Ito's, which most colour-blind readers can tell apart) and in how they are dashed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

import msgspec

__all__ = ["FRAME", "HEIGHT", "WIDTH", "Curve", "chart", "ticks"]

WIDTH, HEIGHT = 760, 420
FRAME = (72.0, 48.0, 736.0, 364.0)
"""Where the lines are drawn: left, top, right, bottom."""

_TICKS = 6
_LEAST = 1e-6  # what an axis shows at least, so that one of zeros has a length
_NOISE = 1e-9
_LEGEND_STEP, _SAMPLE = 18, 28
# (on light, on dark, dash)
_STYLES = (
    ("#0072b2", "#56b4e9", ""),
    ("#d55e00", "#ff9a4d", "7 3"),
    ("#007a5a", "#2fd0a2", "2 3"),
    ("#a4478a", "#e79cc8", "10 3 2 3"),
    ("#7a6a00", "#f0e442", "5 5"),
    ("#444444", "#bbbbbb", "1 4"),
    ("#8c510a", "#d8b365", "4 2 1 2"),
)


class Curve(msgspec.Struct, frozen=True):
    """A name for the legend, and points (x, y) in order; x and y are finite and not below 0."""

    name: str
    points: tuple[tuple[float, float], ...]


def chart(lines: Sequence[Curve], *, title: str, x: str, y: str) -> str:
    """The chart of 1 to 7 lines, as one SVG document of `WIDTH` by `HEIGHT`.

    Args:
        title: what is shown, above the chart and as its accessible name.
        x, y: what the axes measure, with the unit. Both start at 0 and are linear.
    """
    if not 1 <= len(lines) <= len(_STYLES):
        raise ValueError(f"{len(lines)} lines: a chart takes 1 to {len(_STYLES)}")
    return "\n".join(_elements(lines, title, x, y)) + "\n"


def ticks(greatest: float) -> list[float]:
    """Round numbers (1, 2 or 5 times a power of ten apart) from 0 to the first that is not below `greatest`, 2 to 7 of them."""
    greatest = max(greatest, _LEAST)
    rough = greatest / (_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - _NOISE))
    return [step * number for number in range(math.ceil(greatest / step * (1 - _NOISE)) + 1)]


def _elements(lines: Sequence[Curve], title: str, x: str, y: str) -> Iterator[str]:
    left, top, right, bottom = FRAME
    columns = ticks(max(point[0] for line in lines for point in line.points))
    rows = ticks(max(point[1] for line in lines for point in line.points))

    def across(value: float) -> float:
        return left + (right - left) * value / columns[-1]

    def up(value: float) -> float:
        return bottom - (bottom - top) * value / rows[-1]

    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    yield f"<title>{escape(title)}</title>"
    yield f"<desc>{escape(_described(lines, x, y))}</desc>"
    yield f"<style>{_style(len(lines))}</style>"
    yield f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>'
    yield f'<text class="title" x="{left:g}" y="28">{escape(title)}</text>'
    for value in rows:
        yield f'<path class="grid" d="M{left:g} {up(value):.1f}H{right:g}"/>'
        yield f'<text x="{left - 8:g}" y="{up(value) + 4:.1f}" text-anchor="end">{value:,g}</text>'
    for value in columns:
        yield f'<path class="grid" d="M{across(value):.1f} {bottom:g}v5"/>'
        yield f'<text x="{across(value):.1f}" y="{bottom + 20:g}" text-anchor="middle">{value:,g}</text>'
    yield f'<text x="{(left + right) / 2:g}" y="{bottom + 42:g}" text-anchor="middle">{escape(x)}</text>'
    middle = (top + bottom) / 2
    yield f'<text transform="translate(18 {middle:g}) rotate(-90)" text-anchor="middle">{escape(y)}</text>'
    for number, line in enumerate(lines):
        points = " ".join(f"{across(at):.1f},{up(value):.1f}" for at, value in line.points)
        yield f'<polyline class="line l{number}" points="{points}"/>'
    for number, line in enumerate(lines):
        height = top + 16 + number * _LEGEND_STEP
        yield f'<path class="line l{number}" d="M{left + 14:g} {height:g}h{_SAMPLE}"/>'
        yield f'<text x="{left + 22 + _SAMPLE:g}" y="{height + 4:g}">{escape(line.name)}</text>'
    yield "</svg>"


def _described(lines: Sequence[Curve], x: str, y: str) -> str:
    """The chart in a sentence, for those who do not see it."""
    ends = "; ".join(f"{line.name}: {line.points[-1][1]:,g} at {line.points[-1][0]:,g}" for line in lines if line.points)
    return f"{y} over {x}. {ends}."


def _style(count: int) -> str:
    light = "".join(f".l{number}{{stroke:{light}}}" for number, (light, _, _) in enumerate(_STYLES[:count]))
    dark = "".join(f".l{number}{{stroke:{dark}}}" for number, (_, dark, _) in enumerate(_STYLES[:count]))
    dashes = "".join(f".l{number}{{stroke-dasharray:{dash}}}" for number, (_, _, dash) in enumerate(_STYLES[:count]) if dash)
    return (
        "text{font:12px system-ui,sans-serif;fill:#333}.title{font-size:15px;font-weight:600}.page{fill:#fff}"
        f".grid{{stroke:#ddd}}.line{{fill:none;stroke-width:2;stroke-linejoin:round}}{light}{dashes}"
        f"@media(prefers-color-scheme:dark){{text{{fill:#ddd}}.page{{fill:#16181d}}.grid{{stroke:#3a3d44}}{dark}}}"
    )
