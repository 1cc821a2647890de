"""The figure of a search: every genome by cost and success, and how the Pareto front moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from auto_research.reporting.drawing import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Point,
    Scale,
    chart,
    legend,
    line,
)
from auto_research.reporting.words import rate


@dataclass(frozen=True, slots=True)
class Dot:
    """One genome that ran: its total cost, its joint success, and the arm it was proposed by."""

    cost: float
    joint: float
    generation: int
    random: bool


def front(dots: Sequence[Dot]) -> list[Dot]:
    """The dots that no other one dominates, cheapest first; one of each pair of equals."""
    kept: list[Dot] = []
    for dot in sorted(dots, key=lambda d: (d.cost, -d.joint, d.generation)):
        if not kept or dot.joint > kept[-1].joint:
            kept.append(dot)
    return kept


def fronts(dots: Sequence[Dot]) -> list[tuple[int, list[Dot]]]:
    """The front of everything that evolution had seen after each generation that moved it."""
    found: list[tuple[int, list[Dot]]] = []
    mine = [dot for dot in dots if not dot.random]
    for generation in sorted({dot.generation for dot in mine}):
        now = front([dot for dot in mine if dot.generation <= generation])
        if not found or found[-1][1] != now:
            found.append((generation, now))
    return found


def front_figure(dots: Sequence[Dot]) -> Markup:
    """Total cost against joint success on validation; the last front is drawn strongest."""
    most = max([1.0, *(dot.cost for dot in dots)])
    x, y = Scale(0, most, LEFT, RIGHT), Scale(0, 1, BOTTOM, TOP)
    moved = fronts(dots)
    lines = [
        line(_stairs(x, y, now), "series-a" if number == len(moved) - 1 else "series-d")
        for number, (_, now) in enumerate(moved)
    ]
    marks = [
        Markup('<circle class="dot {}" cx="{}" cy="{}" r="3.5"><title>{}</title></circle>').format(
            "hollow" if dot.random else "full",
            x(dot.cost),
            y(dot.joint),
            f"generation {dot.generation}: {rate(dot.joint)} at {rate(dot.cost)}",
        )
        for dot in dots
    ]
    last = moved[-1][1] if moved else []
    said = "; ".join(f"{rate(dot.joint)} at {rate(dot.cost)}" for dot in last)
    marks_of = [
        ("dot full", "evolution"),
        ("dot hollow", "random search"),
        ("series-a", "last front"),
        ("series-d", "earlier"),
    ]
    return chart(
        "front",
        "Joint success against total cost on validation, with the front by generation",
        f"{len(dots)} genomes. Evolution's last front: {said or 'empty'}.",
        [_axes(x, y), *lines, *marks, legend(marks_of, LEFT)],
    )


def _stairs(x: Scale, y: Scale, dots: Sequence[Dot]) -> list[Point]:
    """What the front dominates lies right of and below these corners."""
    corners: list[Point] = []
    for dot in dots:
        if corners:
            corners.append((x(dot.cost), corners[-1][1]))
        corners.append((x(dot.cost), y(dot.joint)))
    return [*corners, (RIGHT, corners[-1][1])] if corners else []


def _axes(x: Scale, y: Scale) -> Markup:
    parts = [
        Markup(
            '<line class="grid" x1="{}" x2="{}" y1="{y}" y2="{y}"/>'
            '<text class="end" x="{}" y="{ty}">{}</text>'
        ).format(LEFT, RIGHT, LEFT - 6, f"{tick:g}", y=y(tick), ty=y(tick) + 4)
        for tick in y.ticks(4)
    ]
    parts += [
        Markup('<text class="mid" x="{}" y="{}">{}</text>').format(
            x(tick), BOTTOM + 18, f"{tick:g}"
        )
        for tick in x.ticks(5)
    ]
    parts.append(
        Markup(
            '<line class="axis" x1="{}" x2="{}" y1="{y}" y2="{y}"/>'
            '<text class="mid" x="{}" y="{}">total cost of a test episode, in budgets</text>'
        ).format(LEFT, RIGHT, (LEFT + RIGHT) / 2, BOTTOM + 36, y=BOTTOM)
    )
    return Markup("").join(parts)
