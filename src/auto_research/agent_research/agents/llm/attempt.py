"""One attempt, turn by turn: what the model says is run, and what came of it is told and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.llm.code import Block, actions, blocks_in, together, uses
from auto_research.agent_research.agents.llm.context import Message, Turn, conversation, trimmed
from auto_research.agent_research.agents.llm.options import Limits, Options
from auto_research.agent_research.agents.llm.planning import PlanningWorld
from auto_research.agent_research.agents.llm.prompts import Prompts
from auto_research.agent_research.agents.llm.record import Answer
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import Use
from auto_research.agent_research.rows import TranscriptLine
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.base import Environment, Json, Observation, Submission, Task
from auto_research.errors import BudgetExceeded

Ask = Callable[[Sequence[Message]], Answer]

_SHOWN = 4_000  # characters of a line of the transcript
_KEPT = 600  # characters of an output that the skill writer gets to read
_SHRINK = 0.75  # of the room for a prompt, each time the server finds it too small
ESTIMATED, REPEATED = "tokens-estimated", "model-calls-repeated"


@dataclass
class Attempting:
    """The state of one attempt; `run` it once."""

    task: Task
    meter: Meter
    ask: Ask
    options: Options
    limits: Limits
    prompts: Prompts
    turns: list[Turn] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    lines: list[TranscriptLine] = field(default_factory=list)
    flags: set[str] = field(default_factory=set)
    steps: int = 0  # replies of the model
    finished: bool = False
    wordless: bool = False  # the model said something without code

    def run(
        self,
        skills: Sequence[Skill],
        world: Environment,
        observation: Mapping[str, str],
        instruction: str,
    ) -> Attempt:
        """The whole attempt; `observation` and `instruction` are what the model gets to read."""
        loaded: list[Skill] = []
        room = self.options.context_tokens - self.options.max_tokens
        try:
            loaded = self._load(skills, world)
            system = self.prompts.render(
                "system",
                guide=self.prompts.guide(self.task.kind),
                interactions=self.limits.interactions,
            )
            opening = self.prompts.render(
                "task",
                functions=together([skill.source for skill in loaded]),
                notes=[skill.source for skill in skills if skill.kind == "text"],
                observation=[(t.replace("_", " "), text) for t, text in observation.items()],
                instruction=instruction,
            )
            while self.steps < self.limits.interactions and not self.finished:
                answer, room = self._answer(system, opening, room)
                if answer is None:
                    break
                self.meter.spend("step")
                self.meter.count("steps")
                self.steps += 1
                code = blocks_in(answer.text)
                if not code:
                    self.wordless = True
                    self._tell("model", f"a reply without code: {answer.text}")
                    break
                self._turn(code, answer, world)
        except BudgetExceeded as error:
            self._tell("budget", f"out of budget: {error}")
        return self._told(skills, loaded, world)

    def _load(self, skills: Sequence[Skill], world: Environment) -> list[Skill]:
        """Run the functions in the world; those that are defined then: all of them, or none."""
        best: dict[str, Skill] = {}
        for skill in skills:
            if skill.kind == "function":
                best.setdefault(skill.name, skill)
        if not best:
            return []
        self.meter.spend("load", len(best))
        seen = self._execute(together([skill.source for skill in best.values()]), world)
        names = ", ".join(best)
        if seen.failed:
            self._tell("skills", f"dropped, as their code failed: {names}; {seen.text}")
            return []
        self._tell("skills", f"defined: {names}")
        return list(best.values())

    def _answer(self, system: str, opening: str, room: int) -> tuple[Answer | None, int]:
        """The model's next answer, or None if the task no longer fits; and the room that there is.

        Where the server finds a prompt too long, the room is made smaller until it does not.
        """
        while True:
            messages = conversation(system, opening, self.turns, room)
            if messages is None:
                self._tell("context", "the task no longer fits the model's context")
                return None, room
            answer = self.ask(messages)
            if answer.estimated or any(failure.tokens for failure in answer.failures):
                self.flags.add(ESTIMATED)
            if answer.failures:
                self.flags.add(REPEATED)
            if not answer.overflow:
                return answer, room
            room = int(room * _SHRINK)

    def _turn(self, code: Sequence[str], answer: Answer, world: Environment) -> None:
        first = code[0]
        self._tell("code", first)
        if len(first) > self.limits.code:
            seen = Observation(f"not run: longer than {self.limits.code} characters", failed=True)
        else:
            self.blocks.append(Block(first, failed=True, output="out of budget"))
            seen = self._execute(first, world)
            self.blocks.pop()
        self.blocks.append(Block(first, seen.failed, trimmed(seen.text, _KEPT)))
        self.finished = seen.finished
        output = self.prompts.render(
            "output",
            text=trimmed(seen.text.strip(), self.limits.output),
            failed=seen.failed,
            ignored=len(code) - 1,
            cut=answer.cut,
            left=self.limits.interactions - self.steps,
        )
        self._tell("world", output)
        self.turns.append(Turn(trimmed(answer.text, 4 * self.limits.output), output))

    def _execute(self, code: str, world: Environment) -> Observation:
        seen = world.execute(code, calls=self.meter.left())
        if seen.calls:
            self.meter.spend("api-call", seen.calls)
        return seen

    def _told(
        self, skills: Sequence[Skill], loaded: Sequence[Skill], world: Environment
    ) -> Attempt:
        return Attempt(
            submission=self._submission(world),
            own_check=self.finished,
            uses=tuple(self._uses(skills, loaded)),
            steps=self.steps,
            transcript=tuple(self.lines),
            evidence=self._evidence(loaded),
            flags=tuple(sorted(self.flags.union(world.flags()))),
            actions=actions(self.blocks),
        )

    def _submission(self, world: Environment) -> Submission:
        """What is handed in; nothing at all after a reply without code."""
        if self.wordless:
            return Submission()
        if isinstance(world, PlanningWorld):
            return Submission(tuple(world.plan), world.answer)
        return Submission(payload={"turns": len(self.blocks)})

    def _uses(self, skills: Sequence[Skill], loaded: Sequence[Skill]) -> list[Use]:
        """Use by name in code (1_skill of SAGE); a text is used by being shown."""
        calls = uses(self.blocks, [skill.name for skill in loaded])
        there = {skill.id for skill in loaded}
        found: list[Use] = []
        for skill in skills:
            if skill.kind == "text":
                found.append(Use(skill.id, True, self.finished, detail="shown"))
            elif skill.id not in there:
                same = any(skill.name == other.name for other in loaded)
                why = "a better one has its name" if same else "the block was dropped"
                found.append(Use(skill.id, False, False, sound=same, detail=why))
            else:
                mine = calls[skill.name]
                sound = not (mine and mine[-1].failed)
                told = f"named in {len(mine)} blocks, {sum(b.failed for b in mine)} of them failed"
                helped = bool(mine) and self.finished
                found.append(Use(skill.id, bool(mine), helped, sound, told if mine else ""))
        return found

    def _evidence(self, loaded: Sequence[Skill]) -> Json:
        return {
            "given": together([skill.source for skill in loaded]),
            "finished": self.finished,
            "blocks": [
                {"code": b.code, "failed": b.failed, "output": b.output} for b in self.blocks
            ],
        }

    def _tell(self, at: str, text: str) -> None:
        self.lines.append(TranscriptLine(at, trimmed(text, _SHOWN)))
