"""The folder that travels to the nodes: the code as it is now, the data, the spec, the script.

A job waits in queues for days; the code it then runs must be the code it was checked with. So the
packages are copied, with what tells Python which plugins they are.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

from auto_research.agent_research.durable import write_atomic
from auto_research.errors import UserError
from auto_research.plugins import GROUP, Registry
from auto_research_openrlhf.plan import AGENT, EVALUATION, TRAIN, Plan
from auto_research_openrlhf.render import SCRIPT, job_script
from auto_research_openrlhf.spec import FILE

_AGENT = '''"""What OpenRLHF loads: the executor, under the name that it asks for."""

from auto_research_openrlhf.executor.agent import AgentExecutor as AgentExecutor
'''
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")
_METADATA = ("METADATA", "PKG-INFO", "entry_points.txt", "top_level.txt")


def write_folder(plan: Plan, registry: Registry, folder: Path) -> None:
    """Write `folder`, which must not exist yet. Raises UserError for code that cannot travel."""
    folder.mkdir(parents=True)
    for dist in _distributions(registry, plan):
        _copy(dist, folder)
    for name, text in texts(plan).items():
        write_atomic(folder / name, text.encode())
    shutil.copyfile(plan.train.path, folder / TRAIN)
    if plan.evaluation is not None:
        shutil.copyfile(plan.evaluation.path, folder / EVALUATION)


def texts(plan: Plan) -> Mapping[str, str]:
    """The files of the folder that are made here."""
    agent = {} if plan.program == "train_sft" else {AGENT: _AGENT}
    return {**agent, FILE: plan.spec.text(), SCRIPT: job_script(plan)}


def _distributions(registry: Registry, plan: Plan) -> list[Distribution]:
    """This project, this plugin, and those that the method's operators come from.

    Raises UserError for an operator from no distribution (a module named in the environment).
    """
    points = {
        point.name: dist
        for dist in distributions()
        for point in dist.entry_points
        if point.group == GROUP
    }
    ours = [dist for dist in distributions() if dist.metadata["Name"] == "auto-research"]
    wanted = {
        registry.operators[slot][filled.use].plugin for slot, filled in plan.method.slots().items()
    }
    found = [ours[0], points["openrlhf"]]
    for plugin in sorted(wanted - {"builtin", "openrlhf"}):
        if plugin not in points:
            raise UserError(
                f"the plugin {plugin!r} is no installed distribution, so no node could have it",
                mend="give it a pyproject.toml with an entry point and install it",
            )
        found.append(points[plugin])
    return found


def _copy(dist: Distribution, folder: Path) -> None:
    """Its packages, and a ``.dist-info`` with its entry points."""
    for package in _packages(dist):
        found = importlib.util.find_spec(package)
        if found is None:
            raise UserError(f"package {package!r} of {dist.metadata['Name']} is not there")
        if found.submodule_search_locations:
            source = Path(next(iter(found.submodule_search_locations)))
            shutil.copytree(source, folder / package, ignore=_LEFT_OUT, dirs_exist_ok=True)
        elif found.origin:
            shutil.copyfile(found.origin, folder / f"{package}.py")
    name = dist.metadata["Name"].replace("-", "_")
    info = folder / f"{name}-{dist.version}.dist-info"
    info.mkdir()
    for file in _METADATA:
        text = dist.read_text(file)
        if text:
            (info / ("METADATA" if file == "PKG-INFO" else file)).write_text(text, encoding="utf-8")


def _packages(dist: Distribution) -> Iterable[str]:
    told = dist.read_text("top_level.txt")
    names = told.split() if told else []
    points = [p.value.partition(":")[0].partition(".")[0] for p in dist.entry_points]
    return sorted({*names, *points} - {""})
