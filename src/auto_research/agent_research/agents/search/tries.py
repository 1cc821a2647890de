"""Plan on what is only assumed, do the plan in the world, and give up what the world refutes.

The facts of one static predicate may be candidates, of which some are false (the observation names
the predicate as ``assumed``). A plan that relies on them is done in the task's world, one action a
line. Where an action fails although all that it asks for held as far as was known, the assumed
facts that it relied on are taken as false, but for those that an earlier success has proven.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from auto_research.agent_research.budget import Meter
from auto_research.benchmarks.base import Environment
from auto_research.pddl import Atom, Problem, Step
from auto_research.pddl.strips import Ground, instantiate


@dataclass
class Trial:
    """What is believed of a task, and what was done in its world.

    `problem` begins where the world is now, and holds the assumed facts that are not refuted.
    """

    problem: Problem
    assumed: str
    world: Environment
    meter: Meter
    done: list[Step] = field(default_factory=list)
    proven: set[Atom] = field(default_factory=set)
    refuted: list[Atom] = field(default_factory=list)
    turns: int = 0

    def settle(
        self,
        plan: Callable[[Problem], Sequence[Step] | None],
        tell: Callable[[str, str], None],
    ) -> bool:
        """Plan and do in turn, until a plan goes to its end or a failure teaches nothing.

        Whether one went to its end. Raises BudgetExceeded.
        """
        while (steps := plan(self.problem)) is not None:
            known = len(self.refuted)
            if self.carry_out(steps):
                tell("world", f"{len(self.done)} steps done in {self.turns} turns")
                return True
            false = " ".join(f"({' '.join(atom)})" for atom in self.refuted[known:])
            tell("world", f"failed after {len(self.done)} steps; taken as false: {false or 'none'}")
            if not false:
                return False
        return False

    def carry_out(self, plan: Sequence[Step]) -> bool:
        """Do `plan` in the world until an action fails; whether none did.

        It is one turn (a ``step``), and each action tried is an ``api-call``. The plan must apply
        in `problem`, which afterwards begins where the plan ended or failed. Raises BudgetExceeded
        where units are left for a part of the plan only; that part has been done then.
        """
        if not plan:
            return True
        self.meter.spend("step")
        self.meter.count("steps")
        self.turns += 1
        paid = plan[: self.meter.left()]
        seen = self.world.execute("\n".join(map(" ".join, paid)))
        self.meter.spend("api-call", seen.calls)
        went = seen.calls - 1 if seen.failed else len(paid)
        for step in paid[:went]:
            self._did(self._ground(step))
        if seen.failed:
            self._blame(self._ground(plan[went]))
            return False
        if len(paid) < len(plan):
            self.meter.spend("api-call")  # the refusal that ends the attempt
        return True

    def _ground(self, step: Step) -> Ground:
        ground = instantiate(self.problem.domain, step)
        if ground is None or not ground.applicable(self.problem.init, self.problem.static):
            raise ValueError(f"{step} does not apply")
        return ground

    def _did(self, ground: Ground) -> None:
        self.done.append(ground.step)
        self.proven.update(a for a in ground.static if a[0] == self.assumed)
        self.problem = replace(self.problem, init=ground.apply(self.problem.init))

    def _blame(self, ground: Ground) -> None:
        relied = [a for a in ground.static if a[0] == self.assumed and a not in self.proven]
        self.refuted += relied
        self.problem = replace(self.problem, static=self.problem.static.difference(relied))
