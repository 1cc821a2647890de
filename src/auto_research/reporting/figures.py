"""The report's figures as inline SVG: axes, ticks, legends and words for who cannot see them.

Colours come from the page's style sheet by class, so figures follow light and dark mode. Series
differ by stroke or place as well as by colour.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from markupsafe import Markup

from auto_research.reporting.lineage import Size
from auto_research.reporting.summary import Group
from auto_research.reporting.words import PHASE_NAMES, count, number, rate

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


def training_figure(groups: Mapping[int, Group]) -> Markup:
    """Mean reward of each training group, hollow where it taught nothing, with a trailing mean."""
    judged = list(groups.values())
    means = [group.mean for group in judged]
    window = max(5, len(means) // 12)
    trail = [
        sum(means[max(0, i + 1 - window) : i + 1]) / min(i + 1, window) for i in range(len(means))
    ]
    x = Scale(1, max(2, len(means)), LEFT, RIGHT)
    y = Scale(*_padded(means), BOTTOM, TOP)
    dots = [
        Markup('<circle class="dot {}" cx="{}" cy="{}" r="3"/>').format(
            "full" if judged[i].informative else "hollow", x(i + 1), y(means[i])
        )
        for i in _thin(range(len(means)))
    ]
    idle = sum(not group.informative for group in judged)
    return _chart(
        "training",
        "Mean reward of each training group",
        f"{len(means)} groups, of which {idle} uninformative (all siblings earned the same). "
        f"The trailing mean over {window} groups ends at {number(trail[-1])}.",
        [
            _axes(x, y, "training group"),
            *dots,
            _line(_thin([(x(i + 1), y(v)) for i, v in enumerate(trail)]), "series-a"),
            _legend(
                [
                    ("dot full", "informative"),
                    ("dot hollow", "uninformative"),
                    ("series-a", f"mean of last {window}"),
                ],
                LEFT,
            ),
        ],
    )


def test_figure(running: Sequence[tuple[float, float]]) -> Markup:
    """Running mean of joint success and of cost over the test episodes."""
    x, y = Scale(1, max(2, len(running)), LEFT, RIGHT), Scale(0, 1, BOTTOM, TOP)
    joint, cost = running[-1]
    lines = [
        _line(_thin([(x(i + 1), y(pair[n])) for i, pair in enumerate(running)]), name)
        for n, name in enumerate(("series-a", "series-b"))
    ]
    return _chart(
        "test",
        "Running joint success and cost over the test episodes",
        f"After {len(running)} episodes joint success is {rate(joint)} "
        f"and average cost {rate(cost)}.",
        [
            _axes(x, y, "test episode"),
            *lines,
            _legend([("series-a", "joint success"), ("series-b", "cost")], LEFT),
        ],
    )


def growth_figure(sizes: Sequence[Size], episodes: int, test_from: int | None) -> Markup:
    """Active skills, and those created, revised and retired so far, over the episodes."""
    last = sizes[-1]
    top = max(1, *(max(s.active, s.created, s.revised, s.retired) for s in sizes))
    x, y = Scale(0, max(1, episodes), LEFT, RIGHT), Scale(0, top, BOTTOM, TOP)
    columns = {
        "series-b": [s.created for s in sizes],
        "series-c": [s.revised for s in sizes],
        "series-d": [s.retired for s in sizes],
        "series-a": [s.active for s in sizes],
    }
    parts = [_axes(x, y, "episode, in stream order")]
    if test_from is not None and 0 < test_from < episodes:
        parts.append(
            Markup(
                '<line class="mark" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>'
                '<text x="{3}" y="{4}">test</text>'
            ).format(x(test_from), TOP, BOTTOM, x(test_from) + 4, TOP + 10)
        )
    for name, values in columns.items():
        steps = [(s.place + 1, v) for s, v in zip(sizes, values, strict=True)]
        parts.append(_line(_stairs(x, y, [*steps, (episodes, values[-1])]), name))
    words = ("active", "created", "revised", "retired")
    names = [(f"series-{letter}", word) for letter, word in zip("abcd", words, strict=True)]
    return _chart(
        "growth",
        "Size of the skill library over the episodes",
        f"At the end {last.active} skills are active; {last.created} were created, "
        f"{last.revised} revised and {last.retired} retired.",
        [*parts, _legend(names, LEFT)],
    )


def cost_figure(units: Mapping[str, Mapping[str, int]]) -> Markup:
    """Units by kind as bars, dearest first, each stacked by phase; `units` is by phase and kind."""
    totals: dict[str, int] = {}
    for kinds in units.values():
        for kind, amount in kinds.items():
            totals[kind] = totals.get(kind, 0) + amount
    order = sorted(totals, key=lambda kind: (-totals[kind], kind))
    everything = sum(totals.values())
    left, right, row = 70.0, 346.0, 24
    x = Scale(0, max(1, *totals.values()), left, right)
    parts = [_legend([(f"bar-{p}", PHASE_NAMES.get(p, p).lower()) for p in units], left)]
    for i, kind in enumerate(order):
        top, reached = 34 + i * row, 0
        for phase, kinds in units.items():
            amount = kinds.get(kind, 0)
            start, reached = reached, reached + amount
            width = round(x(reached) - x(start), 2)
            if width > 0:
                parts.append(_bar(f"bar-{phase}", x(start), top, width))
        parts.append(
            Markup(
                '<text class="end" x="{}" y="{y}">{}</text><text x="{}" y="{y}">{}</text>'
            ).format(left - 8, kind, x(reached) + 6, _share(totals[kind], everything), y=top + 12)
        )
    said = ", ".join(f"{kind} {count(totals[kind])}" for kind in order)
    title = "Units spent, by kind, stacked by phase"
    return _chart("cost", title, f"Units: {said}.", parts, height=40 + row * len(order))


def interval_mark(value: float, low: float | None, high: float | None) -> Markup:
    """A rate in [0, 1] and its interval on a small rule; the numbers stand beside it as text."""
    x = Scale(0, 1, 4, 136)
    whisker = Markup("")
    if low is not None and high is not None:
        whisker = Markup('<line class="whisker" x1="{}" x2="{}" y1="8" y2="8"/>').format(
            x(low), x(high)
        )
    return Markup(
        '<svg class="interval" viewBox="0 0 140 16" aria-hidden="true">'
        '<line class="rule" x1="4" x2="136" y1="8" y2="8"/>'
        '<path class="rule" d="M4 5V11M70 5V11M136 5V11"/>{}'
        '<circle class="dot full" cx="{}" cy="8" r="3.5"/></svg>'
    ).format(whisker, x(value))


def _chart(
    name: str, title: str, words: str, parts: Sequence[Markup], height: int = HEIGHT
) -> Markup:
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-labelledby="{n}-t {n}-d">'
        '<title id="{n}-t">{}</title><desc id="{n}-d">{}</desc>{}</svg>'
    ).format(WIDTH, height, title, words, Markup("").join(parts), n=name)


def _axes(x: Scale, y: Scale, label: str) -> Markup:
    parts = [
        Markup(
            '<line class="grid" x1="{}" x2="{}" y1="{y}" y2="{y}"/>'
            '<text class="end" x="{}" y="{ty}">{}</text>'
        ).format(LEFT, RIGHT, LEFT - 6, f"{tick:g}", y=y(tick), ty=y(tick) + 4)
        for tick in y.ticks(4)
    ]
    ticks = [tick for tick in x.ticks(5) if tick == int(tick) and tick <= x.high]
    parts += [
        Markup(
            '<line class="axis" x1="{x}" x2="{x}" y1="{}" y2="{}"/>'
            '<text class="mid" x="{x}" y="{}">{}</text>'
        ).format(BOTTOM, BOTTOM + 4, BOTTOM + 18, count(tick), x=x(tick))
        for tick in ticks
    ]
    parts.append(
        Markup(
            '<line class="axis" x1="{}" x2="{}" y1="{y}" y2="{y}"/>'
            '<text class="mid" x="{}" y="{}">{}</text>'
        ).format(LEFT, RIGHT, (LEFT + RIGHT) / 2, BOTTOM + 36, label, y=BOTTOM)
    )
    return Markup("").join(parts)


def _legend(entries: Sequence[tuple[str, str]], left: float) -> Markup:
    parts = []
    for mark, label in entries:
        if mark.startswith("dot"):
            sample = Markup('<circle class="{}" cx="{}" cy="12" r="3"/>').format(mark, left + 8)
        elif mark.startswith("bar"):
            sample = _bar(mark, left + 3, 6, 12, 12)
        else:
            sample = _line([(left, 12), (left + 20, 12)], mark)
        parts.append(sample)
        parts.append(Markup('<text x="{}" y="16">{}</text>').format(left + 25, label))
        left += 42 + 6.8 * len(label)  # about what a letter takes in any sans serif
    return Markup("").join(parts)


def _bar(name: str, left: float, top: float, width: float, height: float = 16) -> Markup:
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        name, left, top, width, height
    )


def _line(points: Sequence[Point], name: str) -> Markup:
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return Markup('<polyline class="series {}" points="{}"/>').format(name, path)


def _stairs(x: Scale, y: Scale, steps: Sequence[Point]) -> list[Point]:
    """The corners of a step line; a step that another covers at the same place is left out."""
    tops = dict(steps)
    corners: list[Point] = []
    for place, value in tops.items():
        if corners:
            corners.append((x(place), corners[-1][1]))
        corners.append((x(place), y(value)))
    return _thin(corners, 4 * POINTS)


def _thin(items: Sequence[T], most: int = POINTS) -> list[T]:
    """Evenly spread `items`, the first and last always among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(0.0, *values), max(1.0, *values)
    return low, high


def _share(amount: int, everything: int) -> str:
    share = 100 * amount / everything if everything else 0
    return f"{count(amount)}  {share:.0f} %"
