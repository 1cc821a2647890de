"""Drawing inline SVG: scales, axes, legends and lines, in the style of the report's page.

Colours come from the page's style sheet by class, so figures follow light and dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from markupsafe import Markup

from auto_research.reporting.words import count

WIDTH, HEIGHT = 460, 250
LEFT, RIGHT, TOP, BOTTOM = 44.0, 448.0, 34.0, 208.0
POINTS = 400  # more than this many points cannot be told apart at this width

Point = tuple[float, float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps data from [low, high] onto pixels from `start` to `end`; low < high."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self, most: int = 5) -> list[float]:
        """At most about `most` round numbers within the scale."""
        step = nice_step((self.high - self.low) / most)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(step * n, 10) for n in range(first, last + 1)]


def nice_step(rough: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below `rough` (positive)."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * m for m in (1, 2, 5, 10) if power * m >= rough * (1 - 1e-9))


def chart(
    name: str, title: str, words: str, parts: Sequence[Markup], height: int = HEIGHT
) -> Markup:
    """A figure with a title and a description; `name` is unique in the page."""
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-labelledby="{n}-t {n}-d">'
        '<title id="{n}-t">{}</title><desc id="{n}-d">{}</desc>{}</svg>'
    ).format(WIDTH, height, title, words, Markup("").join(parts), n=name)


def axes(x: Scale, y: Scale, label: str, *, whole: bool = True) -> Markup:
    """Both axes with grid and ticks; `label` tells x, which counts things if `whole`."""
    parts = [
        Markup(
            '<line class="grid" x1="{}" x2="{}" y1="{y}" y2="{y}"/>'
            '<text class="end" x="{}" y="{ty}">{}</text>'
        ).format(LEFT, RIGHT, LEFT - 6, f"{tick:g}", y=y(tick), ty=y(tick) + 4)
        for tick in y.ticks(4)
    ]
    ticks = [tick for tick in x.ticks(5) if tick <= x.high and (not whole or tick == int(tick))]
    parts += [
        Markup(
            '<line class="axis" x1="{x}" x2="{x}" y1="{}" y2="{}"/>'
            '<text class="mid" x="{x}" y="{}">{}</text>'
        ).format(BOTTOM, BOTTOM + 4, BOTTOM + 18, count(tick) if whole else f"{tick:g}", x=x(tick))
        for tick in ticks
    ]
    parts.append(
        Markup(
            '<line class="axis" x1="{}" x2="{}" y1="{y}" y2="{y}"/>'
            '<text class="mid" x="{}" y="{}">{}</text>'
        ).format(LEFT, RIGHT, (LEFT + RIGHT) / 2, BOTTOM + 36, label, y=BOTTOM)
    )
    return Markup("").join(parts)


def legend(entries: Sequence[tuple[str, str]], left: float) -> Markup:
    """Classes of marks and what each means, in a row from `left`."""
    parts = []
    for mark, label in entries:
        if mark.startswith("dot"):
            sample = Markup('<circle class="{}" cx="{}" cy="12" r="3"/>').format(mark, left + 8)
        elif mark.startswith("bar"):
            sample = bar(mark, left + 3, 6, 12, 12)
        else:
            sample = line([(left, 12), (left + 20, 12)], mark)
        parts.append(sample)
        parts.append(Markup('<text x="{}" y="16">{}</text>').format(left + 25, label))
        left += 42 + 6.8 * len(label)  # about what a letter takes in any sans serif
    return Markup("").join(parts)


def bar(name: str, left: float, top: float, width: float, height: float = 16) -> Markup:
    """A bar of class `name`."""
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        name, left, top, width, height
    )


def line(points: Sequence[Point], name: str) -> Markup:
    """A line through `points`, of class `name`."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return Markup('<polyline class="series {}" points="{}"/>').format(name, path)


def thin(items: Sequence[T], most: int = POINTS) -> list[T]:
    """Evenly spread `items`, the first and last always among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]
