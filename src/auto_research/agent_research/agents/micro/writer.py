"""Skills for an edit request: what an episode of the agent `micro` defined. No model is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from auto_research.agent_research.agents.micro.language import from_source
from auto_research.agent_research.agents.micro.vocabulary import Vocabulary
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import EditRequest
from auto_research.agent_research.similarity import query_text
from auto_research.agent_research.skill import Provenance, Skill, function_skill
from auto_research.benchmarks.base import Task


def write(
    request: EditRequest, task: Task, vocabulary: Vocabulary, meter: Meter
) -> Sequence[Skill]:
    """create: the skills that the episode defined, with a span those that have an action of it.
    revise: the base, if the episode defined one of its name. Nothing for other requests.

    Every skill written costs a unit of ``write``. Raises BudgetExceeded.
    """
    sources = _defined(request)
    match request.kind:
        case "create" if request.span:
            span = set(request.span)
            sources = {
                name: source
                for name, source in sources.items()
                if span & {f"{verb}<>" for verb, _ in from_source(source, vocabulary).body}
            }
        case "create":
            pass
        case "revise" if request.bases:
            name = request.bases[0].name
            sources = {name: sources[name]} if name in sources else {}
        case _:
            return ()
    task = request.episode.task if request.episode else task
    provenance = Provenance(scenario=task.scenario, task=task.id, query=query_text(task))
    found: dict[str, Skill] = {}
    for source in sources.values():
        skill = function_skill(source, interface={"world": vocabulary.world}, provenance=provenance)
        found.setdefault(skill.id, skill)
    skills = [s for s in found.values() if s.id not in {base.id for base in request.bases}]
    meter.spend("write", len(skills))
    return skills


def _defined(request: EditRequest) -> Mapping[str, str]:
    """Python by name."""
    evidence = request.episode.evidence if request.episode is not None else None
    defined = evidence.get("defined") if isinstance(evidence, Mapping) else None
    return {n: str(s) for n, s in defined.items()} if isinstance(defined, Mapping) else {}
