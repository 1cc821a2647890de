"""The agent `llm`: SAGE's loop (arXiv 2512.17102, section 3.1) around any chat model.

Retrieved functions are run in the task's shell first and shown; if that fails, the whole block is
dropped. Then the model answers with one block of code a turn: it calls what it was given
(usage), defines a function and calls it at once (generation), or mends one that raised an error
(update). What ran without an error can be saved, by the method's update operator through
`writer.py`. The task ends when it is handed in, after 40 turns, or at a reply without code, which
hands in nothing and so is paid -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.llm.attempt import Attempting
from auto_research.agent_research.agents.llm.client import Asks, Client, Patience
from auto_research.agent_research.agents.llm.context import Message
from auto_research.agent_research.agents.llm.options import Limits, Options, described
from auto_research.agent_research.agents.llm.planning import PlanningWorld
from auto_research.agent_research.agents.llm.prompts import Prompts
from auto_research.agent_research.agents.llm.record import Answer, Record
from auto_research.agent_research.agents.llm.server import ModelServer
from auto_research.agent_research.agents.llm.wording import (
    facts_in_words,
    question_in_words,
    start_in_words,
    world_in_words,
)
from auto_research.agent_research.agents.llm.writer import write
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import EditRequest
from auto_research.agent_research.sandbox import Sandbox
from auto_research.agent_research.similarity import ngram_similarity, query_text
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Environment, Json, Task
from auto_research.errors import UserError
from auto_research.pddl import PddlError, Problem, read_domain, read_problem
from auto_research.rng import derive

PLANNING = "pddl"  # the kind of tasks whose world the agent makes itself
PLANNING_TASK = "make all that is wanted true, then hand in the answer to the question."
_PARTLY = 0.99  # the best fit of a skill from another scenario


class LlmAgent:
    """Opens sessions that share one connection to the model, and one sandbox.

    With a `client`, that is asked in place of the server that `options` names.
    """

    name = "llm"
    reads_answers = False

    def __init__(
        self,
        options: Options,
        limits: Limits | None = None,
        patience: Patience | None = None,
        reply_seconds: float = 600.0,
        client: Asks | None = None,
    ) -> None:
        self.options, self.limits, self.prompts = options, limits or Limits(), Prompts()
        self.client = client or self._of_server(patience or Patience(), reply_seconds)
        self._sandbox = Sandbox()

    def _of_server(self, patience: Patience, reply_seconds: float) -> Client:
        options, record = self.options, None
        if options.replay is not None:
            record = Record(options.replay, write=False)
        elif options.record is not None:
            record = Record(options.record, write=True)
        server = ModelServer(options, self.limits.reply_bytes, reply_seconds)
        return Client(options, server, patience, record)

    def config(self) -> dict[str, Json]:
        """What run.yaml says of it."""
        return described(self.options, self.limits, self.prompts.content_hash())

    def session(self, task: Task, meter: Meter) -> LlmSession:
        """Begin work on a task. Raises UserError if a planning task cannot be read."""
        return LlmSession(self, task, meter, self._sandbox)

    def close(self) -> None:
        self.client.close()
        self._sandbox.close()


@dataclass
class Model:
    """The model as one session sees it: each request has a seed of its own, drawn by `stream`."""

    client: Asks
    meter: Meter
    task: str
    asked: int = 0

    def ask(self, messages: Sequence[Message]) -> Answer:
        """See `Asks.ask`. The same request asked again is another request."""
        self.asked += 1
        rng = derive(0, "model", self.meter.stream, self.task, self.asked)
        return self.client.ask(messages, rng.getrandbits(31), self.meter)


class LlmSession:
    """One task being worked on."""

    def __init__(self, agent: LlmAgent, task: Task, meter: Meter, sandbox: Sandbox) -> None:
        self._agent, self.task, self.meter, self._sandbox = agent, task, meter, sandbox
        self._model = Model(agent.client, meter, task.id)
        self._problem = _problem_of(task)

    def fit(self, skill: Skill) -> float:
        """1 within the skill's own scenario, as SAGE retrieves; 0 for another kind of world;
        else the share of n-grams that the task has in common with the skill's, below 1.
        """
        if skill.interface.get("world", self.task.kind) != self.task.kind:
            return 0.0
        if skill.provenance.scenario == self.task.scenario:
            return 1.0
        known = skill.provenance.query or f"{skill.name} {skill.docstring}"
        return round(min(_PARTLY, ngram_similarity(query_text(self.task), known)), 6)

    def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
        """Attempt the task; see the top of this page. Raises UserError if there is no world."""
        agent = self._agent
        attempting = Attempting(
            self.task, self.meter, self._model.ask, agent.options, agent.limits, agent.prompts
        )
        if self._problem is None:
            if world is None:
                raise UserError(
                    f"agent 'llm' acts in worlds; a task of kind {self.task.kind!r} has none",
                    where=self.task.id,
                )
            return attempting.run(skills, world, self.task.observation, self.task.instruction)
        own = PlanningWorld(self._problem, self._sandbox, self.meter)
        try:
            return attempting.run(skills, own, self._in_words(self._problem), PLANNING_TASK)
        finally:
            own.close()

    def write(self, request: EditRequest) -> Sequence[Skill]:
        return write(request, self.task, self._model.ask, self._agent.prompts, self.meter)

    def _in_words(self, problem: Problem) -> dict[str, str]:
        question = self.task.observation.get("question")
        text = self._agent.prompts.render(
            "planning",
            world=world_in_words(problem.domain, problem.objects),
            now=start_in_words(problem),
            wanted=facts_in_words(problem.goal),
            question=question_in_words(question, problem.domain) if question else "",
        )
        return {"The world": text}


def _problem_of(task: Task) -> Problem | None:
    """The problem of a planning task; None for other kinds. Raises UserError."""
    if task.kind != PLANNING:
        return None
    try:
        return read_problem(task.observation["problem"], read_domain(task.observation["domain"]))
    except (PddlError, KeyError) as error:
        raise UserError(f"the task cannot be read: {error}", where=task.id) from None
