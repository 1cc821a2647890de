"""Scenarios from PDDL files: a domain's instances in rising size, three a scenario.

Files carry no question of ours, so each task gets one about another instance of its domain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from auto_research.benchmarks.planbench.layout import DomainFiles, find_domains
from auto_research.benchmarks.planbench.questions import Question, draw_question
from auto_research.benchmarks.planbench.render import instance_of
from auto_research.benchmarks.planbench.tasks import Draft, Entry, SealedTask, canary, scenario_of
from auto_research.benchmarks.planbench.variants import Names, invented_words
from auto_research.errors import UserError
from auto_research.pddl import (
    Domain,
    PddlError,
    Problem,
    parse,
    read_domain,
    read_problem,
    show_definition,
)
from auto_research.rng import derive

_CHAIN = 3  # tasks of a scenario


@dataclass(frozen=True)
class _Loaded:
    label: str  # path below the domain's folder
    text: str
    problem: Problem


def scenarios(data_dir: str, seed: int, count: int | None = None) -> list[tuple[Entry, ...]]:
    """The first `count` scenarios of the files in `data_dir`, domain after domain in turn.

    `seed` decides the questions only. Raises UserError for what cannot be read, with its path.
    """
    by_domain = [_domain_scenarios(files) for files in find_domains(Path(data_dir))]
    turns = [group for turn in zip_longest(*by_domain) for group in turn if group is not None]
    return [_scenario(chosen, seed) for chosen in (turns if count is None else turns[:count])]


@dataclass(frozen=True)
class _Group:
    """One scenario to be: some instances of a domain, and all instances to ask questions about."""

    name: str
    domain: Domain
    text: str
    chain: Sequence[_Loaded]
    everything: Sequence[_Loaded]


def _domain_scenarios(files: DomainFiles) -> list[_Group]:
    try:
        raw = _read(files.domain)
        domain, text = read_domain(raw), show_definition(parse(raw))
    except PddlError as error:
        raise _unreadable(files.domain, error) from None
    loaded = sorted((_load(path, domain, files) for path in files.problems), key=_size)
    return [
        _Group(files.name, domain, text, loaded[i : i + _CHAIN], loaded)
        for i in range(0, len(loaded), _CHAIN)
    ]


def _scenario(group: _Group, seed: int) -> tuple[Entry, ...]:
    return scenario_of([_draft(group, loaded, seed) for loaded in group.chain])


def _draft(group: _Group, loaded: _Loaded, seed: int) -> Draft:
    origin = f"{group.name}/{loaded.label}"
    question = _question(group, loaded, seed)
    return Draft(
        domain_text=group.text,
        problem_text=loaded.text,
        question_text=question.text(group.domain.name),
        sealed=SealedTask(
            group.name, "file", loaded.label, origin, canary(origin), group.text, question
        ),
    )


def _question(group: _Group, loaded: _Loaded, seed: int) -> Question:
    """About one of the smaller instances, under object names that the task does not have."""
    rng = derive(seed, "planbench files", group.name, loaded.label)
    small = group.everything[: max(2, len(group.everything) // 3)]
    others = [other for other in small if other is not loaded] or [loaded]
    taken = " ".join(loaded.problem.objects)
    prefix = next(word for word in invented_words(rng, 50, syllables=2) if word not in taken)
    for other in rng.sample(others, len(others)):
        start = instance_of(other.problem)
        try:
            question = draw_question(rng, group.domain, start)
        except ValueError:
            continue
        numbers = rng.sample(range(1, 10 * len(start.objects) + 1), len(start.objects))
        fresh = {name: f"{prefix}{n}" for name, n in zip(start.objects, numbers, strict=True)}
        return question.renamed(Names(objects=fresh))
    raise UserError(
        "no action can be done at the start of any small problem, so nothing can be asked",
        where=group.name,
        mend="leave the folder out",
    )


def _load(path: Path, domain: Domain, files: DomainFiles) -> _Loaded:
    try:
        raw = _read(path)
        problem = read_problem(raw, domain)
    except PddlError as error:
        raise _unreadable(path, error) from None
    label = path.relative_to(files.domain.parent).as_posix()
    return _Loaded(label, show_definition(parse(raw)), problem)


def _size(loaded: _Loaded) -> tuple[int, int, int]:
    """Rising size; instances of one size keep the order of their files."""
    problem = loaded.problem
    return len(problem.objects), len(problem.goal), len(problem.init)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UserError(
            f"cannot read the file: {reason}", where=str(path), mend="check the file"
        ) from None


def _unreadable(path: Path, error: PddlError) -> UserError:
    return UserError(
        str(error), where=str(path), mend="STRIPS with types and negative preconditions is read"
    )
