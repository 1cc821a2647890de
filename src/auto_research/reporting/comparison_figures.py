"""The figures of a comparison's page: the Pareto plot, and what each task gained or lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from auto_research.comparison.figures import TaskDifference
from auto_research.reporting.drawing import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    Scale,
    axes,
    chart,
    legend,
    line,
    thin,
)
from auto_research.reporting.words import count, rate


def pareto_figure(methods: Sequence[Mapping[str, Any]]) -> Markup:
    """Joint success against total cost with both intervals, each method by its number.

    The stairs join the methods of the front.
    """
    x = Scale(0, 1.06 * max(_ends(m["total_cost"])[1] for m in methods) or 1.0, LEFT, RIGHT)
    lowest = min(_ends(m["joint"])[0] for m in methods)
    y = Scale(max(0.0, lowest - 0.03), 1.02, BOTTOM, TOP)
    front = sorted((m["total_cost"]["value"], m["joint"]["value"]) for m in methods if m["pareto"])
    parts = [axes(x, y, "total cost: all units over test episodes, in B", whole=False)]
    if front:
        stairs = [(x(front[0][0]), y(front[0][1]))]
        for cost, joint in front[1:]:
            stairs += [(x(cost), stairs[-1][1]), (x(cost), y(joint))]
        parts.append(line([*stairs, (RIGHT, stairs[-1][1])], "series-b"))
    parts += [_point(number, m, x, y) for number, m in enumerate(methods, start=1)]
    words = "; ".join(
        f"{m['method']}: joint {rate(m['joint']['value'])}, "
        f"total cost {rate(m['total_cost']['value'])}{', on the front' if m['pareto'] else ''}"
        for m in methods
    )
    entries = [("dot full", "on the front"), ("dot hollow", "beaten"), ("series-b", "front")]
    return chart(
        "pareto", "Joint success against total cost", f"{words}.", [*parts, legend(entries, LEFT)]
    )


def difference_figure(
    number: int, label: str, base: str, tasks: Sequence[TaskDifference]
) -> Markup:
    """Cost of each task less the baseline's, in ascending order; gained and lost tasks marked."""
    costs = [task.cost for task in tasks]
    x = Scale(1, max(2, len(tasks)), LEFT, RIGHT)
    low, high = min(-0.1, *costs), max(0.1, *costs)
    y = Scale(low, high, BOTTOM, TOP)
    parts = [
        axes(x, y, "task, in order of the difference"),
        Markup('<line class="mark" x1="{}" x2="{}" y1="{y}" y2="{y}"/>').format(
            LEFT, RIGHT, y=y(0)
        ),
        line(thin([(x(n), y(cost)) for n, cost in enumerate(costs, start=1)]), "series-a"),
    ]
    changed = {"full": 1, "hollow": -1}
    for name, sign in changed.items():
        marked = [(n, task) for n, task in enumerate(tasks, start=1) if task.joint == sign]
        parts += [
            Markup(
                '<circle class="dot {}" cx="{}" cy="{}" r="3"><title>{}</title></circle>'
            ).format(name, x(n), y(task.cost), f"{task.task}: {'gained' if sign > 0 else 'lost'}")
            for n, task in thin(marked)
        ]
    gained, lost = (sum(task.joint == sign for task in tasks) for sign in changed.values())
    cheaper = sum(cost < 0 for cost in costs)
    entries = [
        ("series-a", f"cost less {base}'s"),
        ("dot full", "gained"),
        ("dot hollow", "lost"),
    ]
    return chart(
        f"difference-{number}",
        f"{label} less {base}, task by task",
        f"Of {count(len(tasks))} tasks {label} made {count(cheaper)} cheaper; it got "
        f"{count(gained)} right that {base} did not, and lost {count(lost)}.",
        [*parts, legend(entries, LEFT)],
    )


def _point(number: int, method: Mapping[str, Any], x: Scale, y: Scale) -> Markup:
    cost, joint = method["total_cost"]["value"], method["joint"]["value"]
    (left, right), (low, high) = _ends(method["total_cost"]), _ends(method["joint"])
    return Markup(
        '<g><title>{}</title><line class="whisker" x1="{}" x2="{}" y1="{cy}" y2="{cy}"/>'
        '<line class="whisker" x1="{cx}" x2="{cx}" y1="{}" y2="{}"/>'
        '<circle class="dot {}" cx="{cx}" cy="{cy}" r="4"/><text x="{}" y="{}">{}</text></g>'
    ).format(
        method["method"],
        x(left),
        x(right),
        y(low),
        y(high),
        "full" if method["pareto"] else "hollow",
        x(cost) + 6,
        y(joint) - 6,
        number,
        cx=x(cost),
        cy=y(joint),
    )


def _ends(figure: Mapping[str, float]) -> tuple[float, float]:
    return figure["low"], figure["high"]
