"""The agent `search`: deterministic, no model, no domain's name or rule in its code.

With skills it runs them in the sandbox, best first, and mends what gets stuck by a short local
search; without one that carries it to the goal it searches from where it got to. Texts among
the skills say what its searches try first. What a task only assumes it tries in the task's world.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.search.advice import heed
from auto_research.agent_research.agents.search.analogy import Analogy, find_analogy
from auto_research.agent_research.agents.search.forward import Searcher
from auto_research.agent_research.agents.search.memory import Memory
from auto_research.agent_research.agents.search.programs import label
from auto_research.agent_research.agents.search.question import answer
from auto_research.agent_research.agents.search.story import Story, segment
from auto_research.agent_research.agents.search.tries import Trial
from auto_research.agent_research.agents.search.world import World
from auto_research.agent_research.agents.search.writer import write
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import EditRequest, Use
from auto_research.agent_research.sandbox import Limits, Sandbox
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Environment, Submission, Task
from auto_research.errors import BudgetExceeded, UserError
from auto_research.pddl import PddlError, Problem, Step, read_domain, read_problem

_MET = 64  # problems that a process remembers
EXECUTOR = files(__package__).joinpath("executor.py.txt").read_text()


@dataclass(frozen=True, slots=True)
class Settings:
    """What the executor may do, the same for every method."""

    rounds: int = 12  # of running the skill, each followed by a local repair if it got stuck
    skill_share: float = 0.85  # of the units left, what one skill may spend
    repair_expansions: tuple[int, ...] = (150, 600, 1200)  # of one local search, then again
    repair_goals: int = 3  # open goals tried by one repair
    writing_reserve: int = 250  # units kept back from the last search, to learn from a failure


class SearchAgent:
    """Opens sessions that share one sandbox process."""

    name = "search"
    reads_answers = False

    def __init__(self, settings: Settings | None = None, limits: Limits | None = None) -> None:
        self.settings = settings or Settings()
        self._sandbox = Sandbox(limits or Limits())

    def session(self, task: Task, meter: Meter) -> SearchSession:
        """Begin work on a planning task. Raises UserError for another kind of task."""
        if task.kind != "pddl":
            raise UserError(
                f"agent 'search' plans; it cannot read a task of kind {task.kind!r}",
                where=task.id,
                mend="choose another --agent or --benchmark",
            )
        return SearchSession(self.settings, self._sandbox, task, meter)

    def close(self) -> None:
        self._sandbox.close()


@lru_cache(maxsize=_MET)
def _met(domain_text: str, problem_text: str) -> tuple[Problem, Memory]:
    return read_problem(problem_text, read_domain(domain_text)), Memory()


class SearchSession:
    """One task being worked on."""

    def __init__(self, settings: Settings, sandbox: Sandbox, task: Task, meter: Meter) -> None:
        self.settings, self.task, self.meter = settings, task, meter
        self._sandbox = sandbox
        self._analogies: dict[str, Analogy | None] = {}
        try:
            seen = task.observation
            self.problem, self._memory = _met(seen["domain"], seen["problem"])
        except PddlError as error:
            raise UserError(f"the task cannot be read: {error}", where=task.id) from None

    def fit(self, skill: Skill) -> float:
        """1 for a skill of the same structure, 0.5 for one that knows part of it, else 0."""
        analogy = self._analogy(skill)
        return 0.0 if analogy is None else 1.0 if analogy.exact else 0.5

    def _analogy(self, skill: Skill) -> Analogy | None:
        key = json.dumps(skill.interface, sort_keys=True)
        if key not in self._analogies:
            self._analogies[key] = find_analogy(
                skill.interface, self.problem.domain, self.meter.spend
            )
        return self._analogies[key]

    def write(self, request: EditRequest) -> Sequence[Skill]:
        return write(request, self.meter.spend)

    def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
        story = Story(self.problem)
        assumed = self.task.observation.get("assumed")
        reply: str | None = None
        solved = False
        try:
            reply = self._answer(story)
            if world is not None and assumed:
                solved = self._try(skills, story, Trial(self.problem, assumed, world, self.meter))
            else:
                solved = self._solve(skills, story)
        except BudgetExceeded as error:
            story.tell("budget", f"out of units: {error}")
        tried = story.tried()
        story.uses += story.counsel.uses(searched=bool(tried), solved=solved)
        return Attempt(
            submission=Submission(tuple(story.plan) if solved else None, reply, story.payload),
            own_check=solved,
            uses=tuple(story.uses),
            steps=len(story.plan) if solved else 0,
            transcript=tuple(story.lines),
            evidence={
                "plan": [list(s) for s in story.plan],
                "segments": list(story.segments),
                "tried": tried,
            },
            flags=tuple(sorted(story.flags)),
            actions=tuple(label(s, self.problem.domain) for s in story.plan),
        )

    def _answer(self, story: Story) -> str | None:
        question = self.task.observation.get("question")
        if not question:
            return None
        reply = answer(question, self.problem.domain, self.meter.spend)
        story.tell("answer", reply if reply is not None else "the question cannot be read")
        return reply

    def _try(self, skills: Sequence[Skill], story: Story, trial: Trial) -> bool:
        """Solve what is believed and do it in the world, as often as that teaches something."""
        uses: dict[str, Use] = {}  # by skill, as the last plan had it
        searched = solved = False

        def plan(problem: Problem) -> Sequence[Step] | None:
            nonlocal searched
            story.problem, story.uses = problem, []
            try:
                found = story.plan if self._solve(skills, story) else None
            finally:
                uses.update((use.skill, use) for use in story.uses)
            searched = searched or bool(story.segments)
            return found

        try:
            solved = trial.settle(plan, story.tell)
        finally:
            story.plan, story.payload = trial.done, {"turns": trial.turns} if trial.turns else {}
            whole = segment(0, len(trial.done), self.problem.goal)
            story.segments = [whole] if solved and searched else []
            story.uses = [replace(use, helped=use.helped and solved) for use in uses.values()]
        return solved

    def _solve(self, skills: Sequence[Skill], story: Story) -> bool:
        texts = [skill for skill in skills if skill.kind == "text"]
        story.counsel = heed(texts, self._analogy, story.problem.domain, self.meter.spend)
        story.lines += story.counsel.lines
        # What a trial has refuted or reached makes another problem of it.
        memory = self._memory if story.problem is self.problem else None
        searcher = Searcher(story.problem, self.meter.spend, story.counsel.weights, memory)
        story.searchers.append(searcher)
        best: tuple[int, World] | None = None
        exact = False
        for skill in skills:
            if skill.kind == "text":
                continue
            if exact and self.fit(skill) < 1.0:
                continue  # what knows the whole world got stuck: what knows a part would too
            exact = exact or self.fit(skill) == 1.0
            world = self._run(skill, searcher, story)
            if world is None:
                continue
            met = world.goals_met()
            if met == len(story.problem.goal):
                story.plan = world.plan
                return True
            if world.plan and met and (best is None or met > best[0]):
                best = (met, world)
        start, done = story.problem.init, list[Step]()
        if best is not None:
            start, done = best[1].state, best[1].plan
        spent = self.meter.totals["units"]
        failed = any(use.called for use in story.uses)
        limit = self.meter.left() - self.settings.writing_reserve if failed else None
        found = searcher.plan(start, story.problem.goal, limit)
        if found is None and best and self.meter.left() > self.settings.writing_reserve:
            best, done = None, []  # nothing leads on from there: what the skill did is not mended
            limit = self.meter.left() - self.settings.writing_reserve
            found = searcher.plan(story.problem.init, story.problem.goal, limit)
        units = self.meter.totals["units"] - spent
        if found is None:
            story.tell("search", f"no plan found in {units} units")
            return False
        story.tell("search", f"{len(found)} steps found by search in {units} units")
        story.plan = [*done, *found]
        story.segments = [*story.segments] if best else []
        story.segments.append(segment(len(done), len(story.plan), story.problem.goal))
        return True

    def _run(self, skill: Skill, searcher: Searcher, story: Story) -> World | None:
        """Run one skill, mended by local search where it gets stuck; None if it does not fit."""
        analogy = self._analogy(skill) if skill.interface else None
        if analogy is None:
            story.uses.append(Use(skill.id, False, False, detail="does not fit the task"))
            story.tell("skill", f"{skill.name} does not fit the task")
            return None
        self.meter.spend("load")
        limit = int(self.meter.left() * self.settings.skill_share)
        world = World(story.problem, self.meter.spend, limit, analogy)
        story.segments = []
        trouble, repairs, moved = "", 0, False
        try:
            for _ in range(self.settings.rounds):
                before = world.goals_met()
                trouble = self._call(skill, world, story)
                moved = moved or world.goals_met() > before
                if trouble or world.halted or world.goals_met() == len(story.problem.goal):
                    break
                if world.goals_met() > before:
                    continue
                if not self._repair(world, searcher, story):
                    break
                repairs += 1
        finally:
            # Where local repairs alone reached every goal, the skill has helped nothing.
            helped = moved and world.goals_met() == len(story.problem.goal)
            told = trouble or world.halted or (f"{repairs} local repairs" if repairs else "")
            story.uses.append(Use(skill.id, True, helped, not trouble, told))
            met = f"{world.goals_met()} of {len(story.problem.goal)} goals"
            story.tell(
                "skill", f"{skill.name}: {met}, {len(world.plan)} steps; {told}".rstrip("; ")
            )
        return world

    def _call(self, skill: Skill, world: World, story: Story) -> str:
        """One call of the skill's function on all goals; what went wrong, or an empty text."""
        world.begin()
        goals = [list(world.in_skill_words(a)) for a in story.problem.goal]
        outcome = self._sandbox.call(
            [EXECUTOR, skill.source], f"{skill.name}({goals!r})", world.hosts()
        )
        if world.error is not None:
            raise world.error
        if outcome.failure == "time":
            story.flags.add("safety-net")
        if not outcome.failure or world.halted:
            return ""
        names = {"unsupported": "not supported by the sandbox", "wrong": "skill wrong"}
        return f"{names.get(outcome.failure, outcome.failure)}: {outcome.message}"

    def _repair(self, world: World, searcher: Searcher, story: Story) -> bool:
        """Reach one more goal by a short search, keeping the goals that stand if possible."""
        open_goals = [g for g in story.problem.goal if g not in world.state]
        standing = [g for g in story.problem.goal if g in world.state]
        first = open_goals[: self.settings.repair_goals]
        targets = [[goal, *standing] for goal in first]
        targets += [[goal] for goal in first] if standing else []
        for expansions in self.settings.repair_expansions:
            for target in targets:
                limit = min(expansions, self.meter.left() - self.settings.writing_reserve)
                steps = searcher.plan(world.state, target, limit)
                if steps:
                    end = len(world.plan) + len(steps)
                    story.segments.append(segment(len(world.plan), end, target))
                    world.follow(steps)
                    return True
        return False
