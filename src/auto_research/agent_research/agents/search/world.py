"""The host side of a running skill: a simulated world, charged for every look and every action.

Skill code never holds the state. It asks (`match`, `missing`), acts (`act`) and takes back
(`undo`); names are translated where the skill was written for a domain with other names.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from auto_research.agent_research.agents.search.analogy import Analogy
from auto_research.agent_research.agents.search.arguments import in_order, sequence, texts
from auto_research.agent_research.agents.search.facts import Facts, unify
from auto_research.agent_research.agents.search.joining import Joiner
from auto_research.agent_research.agents.search.ladder import LADDER, Frame, Freedom
from auto_research.errors import BudgetExceeded
from auto_research.pddl import Atom, Problem, Step, substitute
from auto_research.pddl.strips import State, instantiate

Charge = Callable[[str, int], None]

MAX_BINDINGS = 8
MAX_CANDIDATES = 64  # of which the least lacking are kept
MAX_DEPTH = 60


class Halted(Exception):
    """The skill has spent what it may; it is raised again at every further host call."""


_Hopeless = tuple[Atom, State, Freedom, tuple[Atom, ...]]


@dataclass
class World:
    """State, plan and open subgoals of one skill run; `analogy` maps skill words to task words."""

    problem: Problem
    charge: Charge
    limit: int
    analogy: Analogy | None = None
    plan: list[Step] = field(default_factory=list)
    halted: str = ""
    error: BudgetExceeded | None = None
    _spent: int = 0
    _frames: list[Frame] = field(default_factory=list)
    _freedom: Freedom = LADDER[0]
    _until: int = 10**12
    _hopeless: set[_Hopeless] = field(default_factory=set)
    _facts: Facts = field(init=False)
    _joiner: Joiner = field(init=False)

    def __post_init__(self) -> None:
        self._facts = Facts(self.problem)
        self._joiner = Joiner(self._facts, self.problem.objects, self.spend)
        self.state = self.problem.init

    def hosts(self) -> dict[str, Callable[..., object]]:
        """The functions that skill code may call."""
        return {
            "match": self.match,
            "act": self.act,
            "missing": self.missing,
            "enter": self.enter,
            "leave": self.leave,
            "undo": self.undo,
            "retry": self.retry,
            "allow": self.allow,
            "ordered": self.ordered,
            "pattern": self.pattern,
            "restart": self.restart,
        }

    def spend(self, kind: str, amount: int = 1) -> None:
        if self.halted:
            raise Halted(self.halted)
        if self._spent + amount > self.limit:
            self.halted = "the skill's share of the budget is spent"
            raise Halted(self.halted)
        try:
            self.charge(kind, amount)
        except BudgetExceeded as error:
            self.halted, self.error = "budget spent", error
            raise Halted(self.halted) from None
        self._spent += amount

    def _exhausted(self) -> bool:
        """Whether the goal being reached has used up its allowance: then everything is refused."""
        return self._spent >= self._until

    def begin(self) -> None:
        """Ready for another call of the skill, from the state that the last one left."""
        self._frames.clear()
        self.allow(0)

    def in_skill_words(self, atom: Atom) -> Atom:
        """A fact of the task as the skill's domain would put it."""
        names = self.analogy.back().predicates if self.analogy else {}
        return (names.get(atom[0], atom[0]), *atom[1:])

    def follow(self, steps: Sequence[Step]) -> None:
        """Take over steps that a search has simulated already."""
        for step in steps:
            ground = instantiate(self.problem.domain, step)
            if ground is None or not ground.applicable(self.state, self.problem.static):
                raise ValueError(f"{step} does not apply")
            self.state = ground.apply(self.state)
            self.plan.append(step)

    def goals_met(self) -> int:
        return sum(map(self._holds, self.problem.goal))

    @property
    def state(self) -> State:
        return self._facts.state

    @state.setter
    def state(self, state: State) -> None:
        self._facts.state = state

    # What follows is called by skill code: arguments are whatever it likes to pass.

    def match(
        self, wanted: object, *conditions: object, via: object = (), given: object = ()
    ) -> list[tuple[str, ...]]:
        """Distinct values of the wanted variables under which all conditions hold now.

        In a subgoal's first turn the chain `via` and what is `given` must hold too. In later
        turns the values follow that lack the least of `given` (where the freedom is to stray, of
        `via` too): what usually held is then to be brought about.
        """
        firm = [self._atom(c) for c in conditions]
        chain = [self._atom(c) for c in sequence(via)]
        usual = [self._atom(c) for c in sequence(given)]
        names = ["?" + w for w in texts(wanted)]
        if self._exhausted():
            return []
        self.spend("rule")
        found: dict[tuple[str, ...], None] = {}
        if self._frames:
            self._frames[-1].usual = tuple(usual)
            self._frames[-1].brought.clear()
        turn = self._frames[-1].turns if self._frames else 1
        if turn != 2:
            self._joiner.join([*firm, *chain, *usual], {}, names, found, MAX_BINDINGS)
        if turn == 1:
            return list(found)
        best = list(found)
        found.clear()
        wished = [*chain, *usual] if self._freedom.stray else usual
        let_go = [a for a in wished if a[0] in self.problem.domain.fluents]
        kept = [a for a in (*chain, *usual) if a not in let_go]
        self._joiner.join([*firm, *kept], {}, names, found, MAX_CANDIDATES)
        return best + self._least_lacking(list(found), names, let_go)

    def _least_lacking(
        self, found: list[tuple[str, ...]], names: list[str], wished: list[Atom]
    ) -> list[tuple[str, ...]]:
        """Of the values found, those for which the fewest of `wished` (one at least) are false."""
        ranked: list[tuple[int, tuple[str, ...]]] = []
        for values in found:
            binding = dict(zip(names, values, strict=True))
            lacking = sum(not self._some(substitute(a, binding)) for a in wished)
            if lacking:
                ranked.append((lacking, values))
        least = min((lacking for lacking, _ in ranked), default=0)
        return [values for lacking, values in ranked if lacking == least][:MAX_BINDINGS]

    def _some(self, pattern: Atom) -> bool:
        return any(unify(pattern, f, {}) is not None for f in self._facts.candidates(pattern))

    def pattern(
        self, wanted: object, goals: object, like: object, *conditions: object
    ) -> list[tuple[str, ...]]:
        """As `match`, where the facts `like` must also be among `goals`, each another one."""
        given = [self._atom(g) for g in sequence(goals)]
        wishes = [self._atom(g) for g in sequence(like)]
        rest = [self._atom(c) for c in conditions]
        names = ["?" + w for w in texts(wanted)]
        self.spend("rule")
        found: dict[tuple[str, ...], None] = {}
        bindings: list[dict[str, str]] = [{}] if len(given) == len(wishes) else []
        for wish in wishes:
            pairs = [(b, g) for b in bindings for g in given]
            self.spend("match", len(pairs))
            bindings = [m for b, g in pairs if (m := unify(substitute(wish, b), g, b)) is not None]
        for binding in bindings:
            self._joiner.join(rest, binding, names, found, MAX_BINDINGS)
        return list(found)

    def restart(self) -> None:
        """Take the world back to the start; what was spent stays spent."""
        self.state = self.problem.init
        self.plan.clear()
        self._frames.clear()

    def retry(self, fact: object) -> str:
        """After a turn of the rules without success: "open" for another turn, else "refused".

        How many turns there are is the freedom's to say. Only one open subgoal at a time may
        stray: two departures at once would be a search, not a skill.
        """
        atom = self._atom(fact)
        if self.halted:
            raise Halted(self.halted)
        if not self._frames or self._frames[-1].fact != atom:
            return "refused"
        self.undo()
        frame = self._frames[-1]
        frame.turns += 1
        alone = not self._freedom.stray or all(f.turns < 2 for f in self._frames[:-1])
        if self._exhausted():
            self._frames.pop()
            return "refused"
        if frame.turns == 2 and self._freedom.bring and alone:
            return "open"
        if frame.turns <= 3 and self._freedom.needs and alone:
            frame.turns = 3
            return "open"
        self._frames.pop()
        self._hopeless.add(self._key(atom))
        return "refused"

    def act(self, *step: object) -> bool:
        """Do an action in the simulated world; False if it does not apply or breaks what stands."""
        words = self._words(step)
        names = self.analogy.actions if self.analogy else {}
        action = (names.get(words[0], words[0]), *words[1:])
        self.spend("act")
        ground = instantiate(self.problem.domain, action)
        if ground is None or not ground.applicable(self.state, self.problem.static):
            return False
        if not all(x in self.problem.objects for x in action[1:]):
            return False
        if any(a in ground.delete and a not in ground.add for a in self._kept()):
            return False
        self.state = ground.apply(self.state)
        self.plan.append(action)
        return True

    def _kept(self) -> Iterable[Atom]:
        """Facts that the work at hand must not break: goals met, and what was needed before it."""
        if not self._freedom.goals:
            yield from (a for a in self.problem.goal if a in self.state)
        if not (self._freedom.needs and self._frames and self._frames[-1].turns == 3):
            for frame, work in itertools.pairwise(self._frames):
                yield from (a for a in frame.standing(work.fact) if a in self.state)

    def missing(self, facts: object) -> list[Atom]:
        """Those of `facts` that do not hold, in order; they become needs of the open subgoal."""
        atoms = tuple(self._atom(f) for f in sequence(facts))
        if self.halted:
            raise Halted(self.halted)
        if self._frames:
            self._frames[-1].needs = atoms
        originals = [texts(f) for f in sequence(facts)]
        return [o for o, a in zip(originals, atoms, strict=True) if not self._holds(a)]

    def _holds(self, atom: Atom) -> bool:
        return atom in self.state or atom in self.problem.static

    def enter(self, fact: object) -> str:
        """Open a subgoal: "holds" already, "refused" (a loop, too deep, hopeless), or "open"."""
        atom = self._atom(fact)
        if self._holds(atom):
            return "holds"
        self.spend("rule")
        if len(self._frames) >= MAX_DEPTH or any(f.fact == atom for f in self._frames):
            return "refused"
        if self._exhausted() or self._key(atom) in self._hopeless:
            return "refused"
        self._frames.append(Frame(atom, self.state, len(self.plan)))
        return "open"

    def _key(self, atom: Atom) -> _Hopeless:
        return atom, self.state, self._freedom, tuple(f.fact for f in self._frames)

    def leave(self, fact: object) -> bool:
        """Close the open subgoal if its fact holds; take back what was done for it if not."""
        atom = self._atom(fact)
        if not self._frames or self._frames[-1].fact != atom or not self._holds(atom):
            self.undo()
            return False
        self._frames.pop()
        if self._frames:
            self._frames[-1].brought.add(atom)
        return True

    def undo(self) -> None:
        """Take the world back to where the open subgoal began; what was spent stays spent."""
        if self._frames:
            frame = self._frames[-1]
            self.state = frame.state
            del self.plan[frame.length :]

    def allow(self, freedom: object) -> None:
        """How far to go for a goal: 0 breaks nothing that stands, 1 may, 2 and 3 see `match`."""
        step = freedom if isinstance(freedom, int) and 0 <= freedom < len(LADDER) else 0
        self._freedom = LADDER[step]
        self._until = self._spent + self._freedom.units

    def ordered(self, goals: object, hints: object) -> list[tuple[str, ...]]:
        """`goals` sorted so that one that builds on another (see `hints`) comes after it."""
        asked = [texts(g) for g in sequence(goals)]
        if len(asked) > len(self.problem.goal):
            raise ValueError("more goals than the task has")
        return in_order(asked, [tuple(sequence(h)) for h in sequence(hints)])

    def _atom(self, value: object) -> Atom:
        words = self._words(value)
        names = self.analogy.predicates if self.analogy else {}
        return (names.get(words[0], words[0]), *words[1:])

    def _words(self, value: object) -> tuple[str, ...]:
        words = texts(value)
        if not words:
            raise ValueError("an empty fact or action")
        return words
