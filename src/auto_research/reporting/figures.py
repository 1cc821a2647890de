"""The report's figures as inline SVG, with words for who cannot see them.

Series differ by stroke or place as well as by colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from auto_research.reporting.drawing import (
    BOTTOM,
    LEFT,
    POINTS,
    RIGHT,
    TOP,
    Point,
    Scale,
    axes,
    bar,
    chart,
    legend,
    line,
    thin,
)
from auto_research.reporting.lineage import Size
from auto_research.reporting.summary import Group
from auto_research.reporting.words import PHASE_NAMES, count, number, rate


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
        for i in thin(range(len(means)))
    ]
    idle = sum(not group.informative for group in judged)
    return chart(
        "training",
        "Mean reward of each training group",
        f"{len(means)} groups, of which {idle} uninformative (all siblings earned the same). "
        f"The trailing mean over {window} groups ends at {number(trail[-1])}.",
        [
            axes(x, y, "training group"),
            *dots,
            line(thin([(x(i + 1), y(v)) for i, v in enumerate(trail)]), "series-a"),
            legend(
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
        line(thin([(x(i + 1), y(pair[n])) for i, pair in enumerate(running)]), name)
        for n, name in enumerate(("series-a", "series-b"))
    ]
    return chart(
        "test",
        "Running joint success and cost over the test episodes",
        f"After {len(running)} episodes joint success is {rate(joint)} "
        f"and average cost {rate(cost)}.",
        [
            axes(x, y, "test episode"),
            *lines,
            legend([("series-a", "joint success"), ("series-b", "cost")], LEFT),
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
    parts = [axes(x, y, "episode, in stream order")]
    if test_from is not None and 0 < test_from < episodes:
        parts.append(
            Markup(
                '<line class="mark" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>'
                '<text x="{3}" y="{4}">test</text>'
            ).format(x(test_from), TOP, BOTTOM, x(test_from) + 4, TOP + 10)
        )
    for name, values in columns.items():
        steps = [(s.place + 1, v) for s, v in zip(sizes, values, strict=True)]
        parts.append(line(_stairs(x, y, [*steps, (episodes, values[-1])]), name))
    words = ("active", "created", "revised", "retired")
    names = [(f"series-{letter}", word) for letter, word in zip("abcd", words, strict=True)]
    return chart(
        "growth",
        "Size of the skill library over the episodes",
        f"At the end {last.active} skills are active; {last.created} were created, "
        f"{last.revised} revised and {last.retired} retired.",
        [*parts, legend(names, LEFT)],
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
    parts = [legend([(f"bar-{p}", PHASE_NAMES.get(p, p).lower()) for p in units], left)]
    for i, kind in enumerate(order):
        top, reached = 34 + i * row, 0
        for phase, kinds in units.items():
            amount = kinds.get(kind, 0)
            start, reached = reached, reached + amount
            width = round(x(reached) - x(start), 2)
            if width > 0:
                parts.append(bar(f"bar-{phase}", x(start), top, width))
        parts.append(
            Markup(
                '<text class="end" x="{}" y="{y}">{}</text><text x="{}" y="{y}">{}</text>'
            ).format(left - 8, kind, x(reached) + 6, _share(totals[kind], everything), y=top + 12)
        )
    said = ", ".join(f"{kind} {count(totals[kind])}" for kind in order)
    title = "Units spent, by kind, stacked by phase"
    return chart("cost", title, f"Units: {said}.", parts, height=40 + row * len(order))


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


def _stairs(x: Scale, y: Scale, steps: Sequence[Point]) -> list[Point]:
    """The corners of a step line; a step that another covers at the same place is left out."""
    tops = dict(steps)
    corners: list[Point] = []
    for place, value in tops.items():
        if corners:
            corners.append((x(place), corners[-1][1]))
        corners.append((x(place), y(value)))
    return thin(corners, 4 * POINTS)


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(0.0, *values), max(1.0, *values)
    return low, high


def _share(amount: int, everything: int) -> str:
    share = 100 * amount / everything if everything else 0
    return f"{count(amount)}  {share:.0f} %"
