"""A roofline as SVG: what a device moves and computes at most, and where programs are below that."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape
from typing import TypeAlias

from relift.display.blocks import Roof

Axis: TypeAlias = Callable[[float], float]
"""Where a value stands."""

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 560, 300, 60, 40, 16, 16


def svg(roof: Roof) -> str:
    """The picture; both axes are logarithmic.

    >>> from relift.display.blocks import Roof
    >>> from relift.display.rooflines import svg
    >>> "dot" in svg(Roof("a device", 40.0, 400.0, (("dot", 0.25, 8.0),)))
    True
    """
    ridge = roof.peak / roof.bandwidth
    drawn = [(n, i, g) for n, i, g in roof.programs if i > 0 and g > 0]
    intensities = [ridge, ridge * 4, 0.125, *(i for _, i, _ in drawn)]
    low_x, high_x = _decade(min(intensities), -1), _decade(max(intensities), 1)
    speeds = [roof.peak, roof.bandwidth * low_x, *(g for _, _, g in drawn)]
    low_y, high_y = _decade(min(speeds), -1), _decade(max(speeds), 1)

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / low_x) / math.log(high_x / low_x)

    def y(value: float) -> float:
        height = (HEIGHT - BOTTOM - TOP) * math.log(value / low_y) / math.log(high_y / low_y)
        return HEIGHT - BOTTOM - height

    limit = (
        f'<path class="limit" d="M{x(low_x):.1f} {y(roof.bandwidth * low_x):.1f}'
        f'L{x(ridge):.1f} {y(roof.peak):.1f}H{WIDTH - RIGHT}"/>'
    )
    said = f"Roofline of {roof.device}: {roof.bandwidth:g} GB/s, {roof.peak:g} GFLOP/s"
    parts = [
        f'<svg class="roof" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(said)}">',
        f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>',
        *_ticks(low_x, high_x, low_y, high_y, x, y),
        limit,
        f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 6}" text-anchor="middle">FLOP a byte</text>',
        f'<text x="{LEFT + 6}" y="{TOP + 4}">GFLOP/s</text>',
    ]
    for name, intensity, speed in drawn:
        at = x(intensity), y(speed)
        end = at[0] > WIDTH * 0.6
        parts.append(
            f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="5"/>'
            f'<text x="{at[0] + (-9 if end else 9):.1f}" y="{at[1] + 4:.1f}"'
            f"{' text-anchor=' + chr(34) + 'end' + chr(34) if end else ''}>{escape(name)}</text>"
        )
    return "".join([*parts, "</svg>"])


def _decade(value: float, up: int) -> float:
    power = math.log10(value)
    return 10.0 ** (math.ceil(power) if up > 0 else math.floor(power))


def _ticks(
    low_x: float, high_x: float, low_y: float, high_y: float, x: Axis, y: Axis
) -> Iterator[str]:
    under = HEIGHT - BOTTOM + 16
    for value in _decades(low_x, high_x):
        yield f'<text x="{x(value):.1f}" y="{under}" text-anchor="middle">{value:g}</text>'
    for value in _decades(low_y, high_y):
        yield f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>'


def _decades(low: float, high: float) -> list[float]:
    return [10.0**power for power in range(round(math.log10(low)), round(math.log10(high)) + 1)]
