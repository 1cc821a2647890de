"""Judges plans and works out the answers of questions, with unified-planning and nothing of ours.

Importing this module takes seconds: it belongs to the sealed process only. A domain is parsed once
by unified-planning's reader; the objects, facts and goal of a problem are then set through its
model, which is an order of magnitude faster than its reader and means the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from unified_planning.engines.plan_validator import SequentialPlanValidator
from unified_planning.engines.results import ValidationResultStatus
from unified_planning.engines.sequential_simulator import UPSequentialSimulator
from unified_planning.environment import get_environment
from unified_planning.io import PDDLReader
from unified_planning.model import Problem, ProblemKind
from unified_planning.model.fluent import get_all_fluent_exp
from unified_planning.plans import ActionInstance, SequentialPlan

from auto_research.benchmarks.planbench.questions import Question
from auto_research.benchmarks.planbench.render import atoms_text
from auto_research.pddl import Atom, Expr, PddlError, Step, parse, show

MAX_PLAN = 2000  # actions; a longer plan is not looked at
_CACHED = 512

_environment = get_environment()
_environment.credits_stream = None
_environment.error_used_name = False  # PDDL lets an action and a predicate share one
_reader = PDDLReader(_environment)


class _Settled(Problem):  # type: ignore[misc]
    """A problem that changes no more, so that its kind is worked out once.

    unified-planning asks for the kind three times a validation, half of what a validation costs.
    """

    @property
    def kind(self) -> ProblemKind:
        return self._kind.clone()  # the validator writes into it

    @cached_property
    def _kind(self) -> ProblemKind:
        return super().kind


@dataclass(frozen=True, eq=False)
class Judged:
    """One problem, ready for judging."""

    problem: Any
    _verdicts: dict[tuple[Step, ...], bool] = field(default_factory=dict)

    @cached_property
    def _validator(self) -> Any:
        validator = SequentialPlanValidator(environment=_environment)
        validator.skip_checks = True  # STRIPS with types is all that our reader lets through
        return validator

    def valid(self, plan: Sequence[Step]) -> bool:
        """Whether `plan` can be done and reaches the goal; a plan that makes no sense is not."""
        if (known := tuple(plan)) not in self._verdicts:
            self._verdicts[known] = self._validate(plan)
        return self._verdicts[known]

    def _validate(self, plan: Sequence[Step]) -> bool:
        instances = self._instances(plan)
        if instances is None:
            return False
        result = self._validator.validate(self.problem, SequentialPlan(instances, _environment))
        return bool(result.status == ValidationResultStatus.VALID)

    def told_of(self, thing: str, plan: Sequence[Step]) -> list[Atom] | None:
        """The changeable atoms that mention `thing` after `plan`; None if it cannot be done."""
        instances = self._instances(plan)
        simulator = UPSequentialSimulator(self.problem)
        state = simulator.get_initial_state()
        for instance in instances or ():
            state = state and simulator.apply(state, instance)
        if instances is None or state is None:
            return None
        return [
            (fluent.name, *map(str, atom.args))
            for fluent in _changeable(self.problem)
            for atom in get_all_fluent_exp(self.problem, fluent)
            if thing in map(str, atom.args) and state.get_value(atom).is_true()
        ]

    def _instances(self, plan: Sequence[Step]) -> list[Any] | None:
        """The plan in unified-planning's terms; None if a name, arity or type does not fit."""
        if len(plan) > MAX_PLAN:
            return None
        instances = []
        for name, *things in plan:
            if not self.problem.has_action(name) or not all(map(self.problem.has_object, things)):
                return None
            action = self.problem.action(name)
            objects = [self.problem.object(x) for x in things]
            if len(objects) != len(action.parameters) or not all(
                p.type.is_compatible(o.type)
                for p, o in zip(action.parameters, objects, strict=True)
            ):
                return None
            instances.append(ActionInstance(action, tuple(objects)))
        return instances


@lru_cache(maxsize=_CACHED)
def judged(domain_text: str, problem_text: str) -> Judged:
    """The problem of these texts. Raises PddlError or unified-planning's own errors."""
    return _build(domain_text, problem_text)


def _build(domain_text: str, problem_text: str) -> Judged:
    problem = _domain(domain_text).clone()
    sections = {str(s[0]): s[1:] for s in parse(problem_text)[1:] if isinstance(s, list) and s}
    for name, kind in _typed(sections.get(":objects", [])):
        if not problem.has_object(name):  # a constant may be listed again
            problem.add_object(name, _type(problem, kind))
    for fact in sections.get(":init", []):
        if fact[0] != "not":
            problem.set_initial_value(_atom(problem, fact), True)
    for condition in _conjuncts(sections[":goal"][0]):
        problem.add_goal(_literal(problem, condition))
    problem.__class__ = _Settled
    return Judged(problem)


def truth(domain_text: str, question: Question) -> str:
    """The answer of a question, in the form that the instruction asks for."""
    asked = _build(domain_text, question.problem(_name(domain_text)))
    if question.kind == "validity":
        return "valid" if asked.valid(question.plan) else "invalid"
    atoms = asked.told_of(question.thing, question.plan)
    if atoms is None:
        raise ValueError("the plan of a state question cannot be done")
    return atoms_text(atoms)


def complaint(domain_text: str) -> str:
    """What unified-planning has against a domain; empty if nothing."""
    try:
        _domain(domain_text)
    except Exception as error:  # its reader raises errors of several libraries
        return " ".join(str(error).split())[:200] or type(error).__name__
    return ""


@lru_cache(maxsize=_CACHED)
def _domain(text: str) -> Any:
    return _reader.parse_problem_string(show(_readable(parse(text))))


def _name(domain_text: str) -> str:
    heading = parse(domain_text)[1]
    return str(heading[1])


def _readable(domain: list[Expr]) -> list[Expr]:
    """`domain` without what unified-planning cannot read: empty sections, unused :equality."""
    kept: list[Expr] = []
    for section in domain:
        if isinstance(section, list) and section and section[0] == ":requirements":
            wanted = [r for r in section[1:] if r != ":equality"]
            kept.append([":requirements", *(wanted or [":strips"])])
        elif not (isinstance(section, list) and len(section) == 1):
            kept.append(section)
    return kept


def _changeable(problem: Any) -> list[Any]:
    names = {e.fluent.fluent().name for action in problem.actions for e in action.effects}
    return [fluent for fluent in problem.fluents if fluent.name in names]


def _type(problem: Any, kind: str) -> Any:
    if kind == "object" and not problem.has_type("object"):
        return _environment.type_manager.UserType("object")
    return problem.user_type(kind)


def _typed(items: Sequence[Expr]) -> list[tuple[str, str]]:
    typed: list[tuple[str, str]] = []
    waiting: list[str] = []
    tokens = iter(map(str, items))
    for token in tokens:
        if token == "-":
            kind = next(tokens)
            typed += [(name, kind) for name in waiting]
            waiting = []
        else:
            waiting.append(token)
    return typed + [(name, "object") for name in waiting]


def _conjuncts(condition: Expr) -> list[Expr]:
    if isinstance(condition, list) and condition[:1] == ["and"]:
        return [part for c in condition[1:] for part in _conjuncts(c)]
    return [condition]


def _literal(problem: Any, condition: Expr) -> Any:
    if isinstance(condition, list) and condition[:1] == ["not"]:
        return _environment.expression_manager.Not(_atom(problem, condition[1]))
    return _atom(problem, condition)


def _atom(problem: Any, expr: Expr) -> Any:
    if not isinstance(expr, list) or not expr:
        raise PddlError(f"expected an atom, found {expr!r}")
    return problem.fluent(str(expr[0]))(*(problem.object(str(x)) for x in expr[1:]))
