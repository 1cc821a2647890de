"""The deterministic skill writer: turns what an attempt showed into a function skill, or a new
version of one, and a text rule by `advice.py`. Every rule written and every action simulated on
the way is charged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from auto_research.agent_research.agents.search.advice import advise
from auto_research.agent_research.agents.search.analogy import (
    find_analogy,
    interface_of,
    schemas_in,
)
from auto_research.agent_research.agents.search.causes import learn, trim
from auto_research.agent_research.agents.search.programs import (
    completed,
    limited,
    narrowed,
    shrunk,
    translate,
)
from auto_research.agent_research.agents.search.render import NotAProgram, read, render
from auto_research.agent_research.agents.search.rules import (
    Charge,
    Program,
    merge,
    schema_program,
)
from auto_research.agent_research.agents.search.trace import render_trace
from auto_research.agent_research.operators import EditRequest, Episode
from auto_research.agent_research.skill import Provenance, Skill, function_skill
from auto_research.benchmarks.base import Json
from auto_research.pddl import Atom, Domain, Problem, Step, read_domain, read_problem
from auto_research.pddl.strips import State, instantiate


def write(request: EditRequest, charge: Charge) -> Sequence[Skill]:
    """Skills for an edit request; empty when there is nothing to write. Raises BudgetExceeded."""
    if request.kind == "schemas" and request.task is not None:
        observation = request.task.observation
        problem = read_problem(observation["problem"], read_domain(observation["domain"]))
        program = schema_program(problem.domain, problem.goal)
        return [_skill(program, interface_of(problem.domain), Provenance(), charge)]
    if request.kind == "merge":
        return _merge(request.bases, charge)
    if request.kind == "shrink":
        return _shrink(request.bases, charge)
    if request.kind == "adapt":
        return _adapt(request, charge)
    if request.kind == "rule":
        return advise(request, charge)
    episode = request.episode
    if episode is None or "problem" not in episode.task.observation:
        return []
    shown = _Shown(episode)
    if request.kind == "trace":
        return shown.trace(charge)
    learned = shown.program(charge)
    if request.kind == "revise" and (learned is not None or len(request.bases) > 1):
        return _revise(request, learned, shown, charge)
    if request.kind == "create" and learned is not None:
        if request.span:
            learned = narrowed(learned, request.span, shown.domain)
        if learned.rules:
            return [_skill(learned, interface_of(shown.domain), shown.provenance, charge)]
    return []


class _Shown:
    """The successful stretches of an attempt, read back from the episode's evidence."""

    def __init__(self, episode: Episode) -> None:
        observation = episode.task.observation
        self.problem: Problem = read_problem(
            observation["problem"], read_domain(observation["domain"])
        )
        self.domain: Domain = self.problem.domain
        self.provenance = Provenance(
            scenario=episode.task.scenario,
            task=episode.task.id,
            query=f"{observation['domain']}\n{observation['problem']}",
        )
        evidence = episode.evidence if isinstance(episode.evidence, Mapping) else {}
        self.plan: list[Step] = [_words(s) for s in _rows(evidence.get("plan"))]
        self.segments = [s for s in _rows(evidence.get("segments")) if isinstance(s, Mapping)]

    def program(self, charge: Charge) -> Program | None:
        """What all stretches show together; None if there are none."""
        programs = []
        for segment in self.segments:
            begin, end = segment.get("from"), segment.get("to")
            if not isinstance(begin, int) or not isinstance(end, int):
                continue
            start = self._state(begin)
            goal: list[Atom] = [_words(a) for a in _rows(segment.get("goal"))]
            steps = trim(self.problem, start, goal, self.plan[begin:end], charge)
            programs.append(learn(self.domain, start, goal, steps))
        return merge(programs) if programs else None

    def trace(self, charge: Charge) -> Sequence[Skill]:
        """The whole plan as it was, objects turned into variables: control `raw-trace`."""
        if not self.plan:
            return []
        charge("write", len(self.plan))
        source = render_trace(self.problem, self.plan)
        interface = interface_of(self.domain)
        return [function_skill(source, interface=interface, provenance=self.provenance)]

    def _state(self, length: int) -> State:
        state = self.problem.init
        for step in self.plan[:length]:
            ground = instantiate(self.domain, step)
            if ground is not None:
                state = ground.apply(state)
        return state


def _skill(
    program: Program, interface: Mapping[str, Json], provenance: Provenance, charge: Charge
) -> Skill:
    charge("write", len(program.rules))
    return function_skill(render(program), interface=interface, provenance=provenance)


def _revise(
    request: EditRequest, learned: Program | None, shown: _Shown, charge: Charge
) -> Sequence[Skill]:
    """The first base with what was learned, if anything, and what its kin, the other bases, know.

    In the first base's words and with its interface where its domain is the task's; else in the
    task's words and with the task's interface: a new line, which the operator forks.
    """
    bases = request.bases
    own = find_analogy(bases[0].interface, shown.domain, charge)
    known = _retold(bases, shown.domain, charge)
    merged = merge(known if learned is None else [learned, *known])
    if request.limit is not None:
        merged = limited(merged, known[:1], request.limit)
    if not merged.rules:
        return []
    interface = interface_of(shown.domain)
    if own is not None and own.exact:
        merged, interface = translate(merged, own.back()), dict(bases[0].interface)
    return [_skill(merged, interface, shown.provenance, charge)]


def _retold(bases: Sequence[Skill], domain: Domain, charge: Charge) -> list[Program]:
    """What of `bases` fits `domain`, in its words and with all that its actions ask for."""
    programs: list[Program] = []
    for base in bases:
        analogy = find_analogy(base.interface, domain, charge)
        program = _program(base)
        if analogy is None or program is None:
            continue
        told = translate(program, analogy)
        if not analogy.exact:
            told = replace(told, rules=completed(told.rules, domain))
        programs.append(told)
    return programs


def _adapt(request: EditRequest, charge: Charge) -> Sequence[Skill]:
    """One skill for a task, out of all that fits of the bases."""
    task = request.task
    if task is None or "domain" not in task.observation:
        return []
    domain = read_domain(task.observation["domain"])
    merged = merge(_retold(request.bases, domain, charge))
    if not merged.rules:
        return []
    provenance = Provenance(scenario=task.scenario, task=task.id)
    return [_skill(merged, interface_of(domain), provenance, charge)]


def _shrink(bases: Sequence[Skill], charge: Charge) -> Sequence[Skill]:
    """The first base less one rule, once for each rule."""
    base = bases[0]
    program = _program(base)
    parts = [] if program is None else shrunk(program)
    return [_skill(part, base.interface, base.provenance, charge) for part in parts]


def _merge(bases: Sequence[Skill], charge: Charge) -> Sequence[Skill]:
    """One skill out of several whose domains are the same but for names, in the first's words."""
    programs: list[Program] = []
    for base in bases:
        program = _program(base)
        analogy = find_analogy(base.interface, _domain_of(bases[0]), charge)
        if program is None or analogy is None or not analogy.exact:
            return []
        programs.append(translate(program, analogy))
    return [_skill(merge(programs), bases[0].interface, bases[0].provenance, charge)]


def _domain_of(skill: Skill) -> Domain:
    return Domain("", {}, {}, {s.name: s for s in schemas_in(skill.interface)})


def _program(skill: Skill) -> Program | None:
    try:
        return read(skill.source)
    except NotAProgram:
        return None


def _rows(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _words(row: Json) -> tuple[str, ...]:
    return tuple(str(x) for x in _rows(row))
