"""The report: a finished or unfinished run as one HTML file that opens from disk.

`build_report` is a pure function of plain values; `write_report` reads a run directory and writes
the file. Everything a user, a model or a skill wrote is escaped or packed; besides, the page's
content security policy lets only the report's own script run, and nothing reach the network.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from markupsafe import Markup

from auto_research.agent_research import strict_json
from auto_research.agent_research.durable import write_atomic
from auto_research.agent_research.run import RunDir
from auto_research.agent_research.skill import Skill
from auto_research.agent_research.store import SkillStore
from auto_research.errors import UserError
from auto_research.reporting import figures
from auto_research.reporting.checked import check_config, check_metrics
from auto_research.reporting.lineage import Change, causes, growth, trees
from auto_research.reporting.notes import notes, warnings
from auto_research.reporting.page import csp_hash, environment, text_of
from auto_research.reporting.summary import Row, Summary, summarise
from auto_research.reporting.words import (
    METRICS,
    PHASE_NAMES,
    RATES,
    budget_line,
    counters,
    figure,
    interval,
    method_name,
    number,
    phase_spending,
)


def write_report(run_dir: Path) -> Path:
    """Write `report.html` of a run, finished or not, and return its path.

    Raises UserError where the directory is no run, one of its files cannot be read, or the page
    cannot be written.
    """
    with RunDir.open(run_dir) as run:
        check_config(run.config, str(run_dir / "run.yaml"))
        metrics = _read_metrics(run.metrics_path)
        skills: Sequence[Skill] = ()
        log: Sequence[Change] = ()
        if run.library_path.is_file():
            with SkillStore(run.library_path, create=False) as store:
                skills, log = list(store.view().skills.values()), store.log()
        rows = (row.to_json() for row in run.rows())
        page = io.BytesIO()
        # Encoded part by part: a long run's page as one string takes several times its size.
        for part in _parts(run.config, metrics, rows, skills, log):
            # A lone surrogate, which a model may write, has no UTF-8: it shows as a question mark.
            page.write(part.encode("utf-8", "replace"))
        try:
            write_atomic(run.report_path, page.getvalue())
        except OSError as error:
            raise UserError(
                f"the page cannot be written: {error.strerror}", where=str(run.report_path)
            ) from None
        return run.report_path


def build_report(
    config: Mapping[str, Any],
    metrics: Mapping[str, Any],
    rows: Iterable[Row],
    skills: Sequence[Skill],
    log: Sequence[Change],
) -> str:
    """The report as HTML text.

    `config` is run.yaml's content, `metrics` that of metrics.json (empty while unfinished), `rows`
    those of episodes.jsonl in stream order, read once; `skills` all versions in order of creation.
    """
    return "".join(_parts(config, metrics, rows, skills, log))


def _parts(
    config: Mapping[str, Any],
    metrics: Mapping[str, Any],
    rows: Iterable[Row],
    skills: Sequence[Skill],
    log: Sequence[Change],
) -> Iterator[str]:
    summary = summarise(rows, causes(log))
    spending = metrics.get("spending") or {"units_by_kind": summary.units}
    units = phase_spending(spending)
    style, script = text_of("report.css"), text_of("report.js")
    return (
        environment()
        .get_template("report.html.j2")
        .generate(
            style=Markup(style),
            script=Markup(script),
            style_hash=csp_hash(style),
            script_hash=csp_hash(script),
            method=method_name(config["method"]),
            config=config,
            config_text=yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True),
            budget=budget_line(config["budget"]),
            warnings=list(warnings(config, metrics, summary)),
            notes=list(notes(config, metrics, summary)),
            headline=list(_headline(metrics.get("metrics") or _so_far(summary))),
            per_episode=_share(units, summary.test_episodes),
            counters=list(counters(metrics.get("telemetry", {}), spending)),
            phases=PHASE_NAMES,
            charts=_charts(summary, units, skills, log),
            units=units,
            kinds=sorted({kind for kinds in units.values() for kind in kinds}),
            lines=trees(skills, log),
            active=sum(skill.status == "active" for skill in skills),
            summary=summary,
        )
    )


def _headline(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, object]]:
    for key, label in METRICS.items():
        metric = metrics.get(key)
        if metric is None or metric.get("value") is None:
            continue
        value, low, high = metric["value"], metric.get("low"), metric.get("high")
        mark = figures.interval_mark(value, low, high) if key in RATES else ""
        yield {
            "label": label,
            "value": figure(key, value),
            "interval": interval(key, metric),
            "mark": mark,
        }


def _so_far(summary: Summary) -> dict[str, dict[str, float]]:
    """Means over the test episodes there are, without intervals, for an unfinished run."""
    done = summary.test_episodes
    return {name: {"value": total / done} for name, total in summary.sums.items()}


def _charts(
    summary: Summary,
    units: Mapping[str, Mapping[str, int]],
    skills: Sequence[Skill],
    log: Sequence[Change],
) -> dict[str, Markup]:
    """The figures there is data for, by name."""
    charts = {}
    if summary.groups:
        charts["training"] = figures.training_figure(summary.groups)
    if summary.running:
        charts["test"] = figures.test_figure(summary.running)
    if units:
        charts["cost"] = figures.cost_figure(units)
    if skills:
        sizes = growth(skills, log, summary.places)
        charts["growth"] = figures.growth_figure(sizes, summary.episodes, summary.test_from)
    return charts


def _share(units: Mapping[str, Mapping[str, int]], episodes: int) -> str:
    total = sum(sum(kinds.values()) for kinds in units.values())
    return number(total / episodes) if episodes else "–"


def _read_metrics(path: Path) -> Mapping[str, Any]:
    """The content of metrics.json, empty while the run is unfinished. Raises UserError."""
    if not path.is_file():
        return {}
    metrics: Any = strict_json.read(path)
    check_metrics(metrics, str(path))
    return dict(metrics)
