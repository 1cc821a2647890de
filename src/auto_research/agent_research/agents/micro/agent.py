"""The agent `micro`: a language model of our own, small enough to be trained on a laptop.

It reads a task in a few words and writes a language of a few words more: actions, definitions of
skills, calls. It knows the words of a world from its checkpoint only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.micro.attempt import attempt, definition_of
from auto_research.agent_research.agents.micro.checkpoint import Policy
from auto_research.agent_research.agents.micro.language import MAX_WORDS
from auto_research.agent_research.agents.micro.options import Limits
from auto_research.agent_research.agents.micro.sampler import Request, Sampled, sample
from auto_research.agent_research.agents.micro.writer import write
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import EditRequest
from auto_research.agent_research.similarity import ngram_similarity, query_text
from auto_research.agent_research.skill import Skill
from auto_research.agent_research.together import Together
from auto_research.benchmarks.base import Environment, Json, Task
from auto_research.errors import UserError
from auto_research.rng import derive

WORDS = "words"  # the observation that tells a task in the words of its world
_PARTLY = 0.99  # the best fit of a skill from another scenario


class MicroAgent:
    """Opens sessions that ask one model, those of all chains that run together at once.

    `told` names the model in run.yaml. Training may change the model's weights between episodes.
    """

    name = "micro"
    reads_answers = False
    test_batch = 100  # see `ManyAtOnce`; with fewer at once a model is slow

    def __init__(
        self,
        policy: Policy,
        temperature: float = 0.0,
        limits: Limits | None = None,
        told: str = "",
    ) -> None:
        self.policy, self.temperature, self.told = policy, temperature, told
        self.limits = limits or Limits()
        self.together: Together[Request, Sampled] = Together(self._answer)

    def config(self) -> dict[str, Json]:
        """What run.yaml says of it. Device and threads are not in it: they change no result but
        by the last digits of sums.
        """
        return {
            "checkpoint": self.told,
            "temperature": self.temperature,
            "limits": self.limits.model_dump(),
            "test_batch": self.test_batch,
        }

    def session(self, task: Task, meter: Meter) -> MicroSession:
        """Begin work on a task. Raises UserError if it is not told in words of the model's, or in
        so many that they leave no room for skills.
        """
        words = task.observation.get(WORDS)
        if words is None:
            raise UserError(
                f"agent 'micro' reads tasks that are told in words; one of kind {task.kind!r} "
                "is not",
                where=task.id,
                mend="choose the benchmark that its model was trained on",
            )
        length = len(self.policy.vocabulary.encode(words.split()))
        context = self.policy.model.shape.context
        if 1 + self.limits.skills * MAX_WORDS + length >= context:
            raise UserError(
                f"{length} words are too many for a model with a context of {context}",
                where=task.id,
            )
        return MicroSession(self, task, words, meter)

    def close(self) -> None:
        """Nothing was started."""

    def _answer(self, requests: Sequence[Request]) -> list[Sampled]:
        return sample(self.policy.model, requests, self.temperature, self.limits.words)


@dataclass
class MicroSession:
    """One task being worked on."""

    agent: MicroAgent
    task: Task
    words: str
    meter: Meter

    def fit(self, skill: Skill) -> float:
        """1 within the skill's own scenario; 0 for one that the language cannot say; else the
        share of n-grams that the task has in common with the skill's, below 1.
        """
        try:
            definition_of(skill, self.agent.policy.vocabulary)
        except ValueError:
            return 0.0
        if skill.provenance.scenario == self.task.scenario:
            return 1.0
        known = skill.provenance.query or skill.name
        return round(min(_PARTLY, ngram_similarity(query_text(self.task), known)), 6)

    def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
        """Attempt the task. Raises UserError if there is no world."""
        if world is None:
            raise UserError("agent 'micro' acts in worlds; the task has none", where=self.task.id)
        agent = self.agent
        rng = derive(0, "micro", self.meter.stream, self.task.id)
        ask, vocabulary = agent.together.ask, agent.policy.vocabulary
        return attempt(skills, self.words, world, vocabulary, agent.limits, self.meter, rng, ask)

    def write(self, request: EditRequest) -> Sequence[Skill]:
        return write(request, self.task, self.agent.policy.vocabulary, self.meter)
