"""Learning curves: what was watched while the arms trained, the mean over seeds and its band."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from auto_research.reporting.drawing import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Scale,
    axes,
    chart,
    line,
    thin,
)
from auto_research.reporting.words import count

# A figure's title, and the top of its scale where that is fixed. Shares reach from 0 to 1.
TITLES: Mapping[str, tuple[str, float | None]] = {
    "validation/sgc": ("Scenario success on validation, greedy", 1.0),
    "success1": ("Success at a chain's first task", 1.0),
    "success2": ("Success at its second task", 1.0),
    "R1": ("Reward of the first task", None),
    "R2": ("Reward of the second task", None),
    "define": ("Tasks that define a skill", 1.0),
    "use": ("Later tasks that call an earlier skill", 1.0),
    "tokens": ("Generated tokens a task", None),
    "zero_variance": ("Groups without variance", 1.0),
    "entropy": ("Entropy of a choice, in nats", None),
}
STYLES = 8  # of lines, told apart by colour and dash

Points = Sequence[Sequence[float]]  # [iteration, mean, least, most]
Curves = Mapping[str, Mapping[str, Points]]  # by arm, then by figure


def curve_figures(curves: Curves) -> Iterator[tuple[str, Markup]]:
    """A title and a chart for each figure that some arm has."""
    for name, (title, top) in TITLES.items():
        mine = {arm: points[name] for arm, points in curves.items() if points.get(name)}
        if mine:
            yield title, _figure(name, title, top, mine, list(curves))


def key(curves: Curves) -> list[tuple[str, Markup]]:
    """Each arm, and a sample of its line."""
    return [(arm, _sample(style_of(number))) for number, arm in enumerate(curves)]


def style_of(number: int) -> str:
    """The class of a line."""
    return f"arm-{number % STYLES}"


def _figure(
    name: str, title: str, top: float | None, mine: Mapping[str, Points], arms: Sequence[str]
) -> Markup:
    points = [point for curve in mine.values() for point in curve]
    last = max(point[0] for point in points)
    x = Scale(0, max(1.0, last), LEFT, RIGHT)
    low = min(0.0, *(least for _, _, least, _ in points))
    high = max(1e-6, *(most for _, _, _, most in points)) if top is None else top
    y = Scale(low, high, BOTTOM, TOP)
    bands, lines = [], []
    for arm, curve in mine.items():
        style = style_of(arms.index(arm))
        shown = thin(curve)
        edge = [(x(at), y(most)) for at, _, _, most in shown]
        edge += [(x(at), y(least)) for at, _, least, _ in reversed(shown)]
        corners = " ".join(f"{left:g},{down:g}" for left, down in edge)
        bands.append(Markup('<polygon class="band {}" points="{}"/>').format(style, corners))
        lines.append(line([(x(at), y(mean)) for at, mean, _, _ in shown], style))
        lines += [_dot(style, x(at), y(mean)) for at, mean, _, _ in shown if len(shown) == 1]
    ends = "; ".join(
        f"{arm} {curve[-1][1]:.3g} at {count(curve[-1][0])}" for arm, curve in mine.items()
    )
    return chart(
        f"curve-{name.replace('/', '-')}",
        title,
        f"Mean over training seeds by iteration. Last: {ends}.",
        [axes(x, y, "iteration"), *bands, *lines],
    )


def _dot(style: str, x: float, y: float) -> Markup:
    return Markup('<circle class="point {}" cx="{}" cy="{}" r="3"/>').format(style, x, y)


def _sample(style: str) -> Markup:
    return Markup('<svg class="sample" viewBox="0 0 28 10" aria-hidden="true">{}</svg>').format(
        line([(1, 5), (27, 5)], style)
    )
