"""One task as it is: what has to be done to which things, and (sealed) at which stations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from auto_research.benchmarks.workshop.rules import GIVES, State


@dataclass(frozen=True, slots=True)
class Piece:
    """A thing of a task: where it lies, what it must become, and where it goes.

    The attributes are in no order that means anything; without a destination it is of no use.
    """

    thing: str
    start: str
    attributes: tuple[str, ...] = ()
    destination: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A thing that has to get somewhere."""

    thing: str
    start: str
    destination: str


@dataclass(frozen=True, slots=True)
class Job:
    """A task: its pieces in the order they are told, its operations in the order that works."""

    pieces: tuple[Piece, ...]
    operations: tuple[str, ...]
    stations: Mapping[str, str] = field(repr=False)  # of every operation

    def state(self) -> State:
        """The workshop before anything is done."""
        return State({piece.thing: piece.start for piece in self.pieces}, self.stations)

    def words(self) -> str:
        """The task in a few words, each thing's facts side by side.

        ``INIT o3 r1 GOAL clean dry r5 , o4 r2 GO``: o3 lies in r1, and must get to r5 clean and
        dry; o4 lies in r2.
        """
        told: list[str] = []
        for piece in self.pieces:
            goal = ("GOAL", *piece.attributes, piece.destination) if piece.destination else ()
            told.append(" ".join((piece.thing, piece.start, *goal)))
        return f"INIT {' , '.join(told)} GO"

    def targets(self) -> tuple[Target, ...]:
        """The pieces that have to get somewhere, in the order they are told."""
        return tuple(
            Target(piece.thing, piece.start, piece.destination)
            for piece in self.pieces
            if piece.destination
        )

    def checks(self, state: State) -> dict[str, bool]:
        """The parts of the goal, and whether `state` has them."""
        wanted = {GIVES[name] for name in self.operations}
        targets = self.targets()
        return {
            "delivered": all(state.places[t.thing] == t.destination for t in targets),
            "processed": all(state.attributes[t.thing] >= wanted for t in targets),
            "hands_free": state.held is None,
        }


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation that a task asks for; its station is one of the candidates."""

    name: str
    attribute: str
    station: str = field(repr=False)
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Truth:
    """What an expert knows of a task: its targets, and its operations in the order that works."""

    targets: tuple[Target, ...]
    operations: tuple[Operation, ...]

    def actions(self) -> tuple[tuple[str, str], ...]:
        """One thing after the other: fetch it, have everything done to it, bring it."""
        steps: list[tuple[str, str]] = []
        for target in self.targets:
            steps += [("goto", target.start), ("pick", target.thing)]
            for operation in self.operations:
                steps += [("goto", operation.station), (operation.name, target.thing)]
            steps += [("goto", target.destination), ("drop", target.thing)]
        return tuple(steps)


def truth_of(job: Job, candidates: Mapping[str, tuple[str, ...]]) -> Truth:
    """The truth of a task; `candidates` are the stations that anybody may think possible."""
    return Truth(
        targets=job.targets(),
        operations=tuple(
            Operation(name, GIVES[name], job.stations[name], candidates[name])
            for name in job.operations
        ),
    )
