"""The workshop's words, and what its actions do: the one place where its rules are written.

An operation undoes what later ones of the list have done, so that a thing that needs several has
them in this order; nothing more can be done to a wrapped thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from auto_research.benchmarks.workshop.sizes import ROOMS, THINGS

# Each operation, the attribute that it gives, and the attributes that it takes away.
GIVES: Mapping[str, str] = {
    "wash": "clean",
    "paint": "painted",
    "drying": "dry",
    "polish": "shiny",
    "heat": "hot",
    "stamp": "stamped",
    "wrap": "wrapped",
}
TAKES: Mapping[str, frozenset[str]] = {
    "wash": frozenset({"painted", "dry", "shiny", "hot", "stamped"}),
    "paint": frozenset({"dry", "shiny", "hot", "stamped"}),
    "drying": frozenset({"shiny", "hot", "stamped"}),
    "polish": frozenset({"hot", "stamped"}),
    "heat": frozenset({"stamped"}),
    "stamp": frozenset(),
    "wrap": frozenset(),
}
SEALING = "wrapped"  # the attribute that nothing more can be done after
OPERATIONS = tuple(GIVES)
# Where they are done in `base`.
STATIONS = ("sink", "booth", "rack", "wheel", "oven", "desk", "press")
ROOM_NAMES = tuple(f"r{i}" for i in range(ROOMS))
THING_NAMES = tuple(f"o{i}" for i in range(THINGS))
PLACES = frozenset((*ROOM_NAMES, *STATIONS))
ENTRANCE = "entrance"  # where one starts, in PDDL; no place, and no way back


class State:
    """Where everything is and what has been done to it.

    `starts` maps things to places, `stations` operations to the stations that do them.
    """

    __slots__ = ("_stations", "attributes", "held", "here", "places")

    def __init__(self, starts: Mapping[str, str], stations: Mapping[str, str]) -> None:
        self.places: dict[str, str | None] = dict(starts)
        self.attributes: dict[str, set[str]] = {thing: set() for thing in starts}
        self.here: str | None = None
        self.held: str | None = None
        self._stations = stations

    def do(self, verb: str, thing: str, where: str | None = None) -> bool:
        """Do an action; False, and nothing has changed, if it cannot be done.

        `where` is the place one is said to be at while doing it (for ``goto``: before), as PDDL
        has it; said wrongly, the action cannot be done.
        """
        if where is not None and where != (self.here or ENTRANCE):
            return False
        if verb == "goto":
            if thing not in PLACES:
                return False
            self.here = thing
            return True
        if self.here is None or thing not in self.places:
            return False
        if verb == "pick":
            if self.held is not None or self.places[thing] != self.here:
                return False
            self.held, self.places[thing] = thing, None
            return True
        if self.held != thing:
            return False
        if verb == "drop":
            self.held, self.places[thing] = None, self.here
            return True
        done = self.attributes[thing]
        if verb not in GIVES or self._stations[verb] != self.here or SEALING in done:
            return False
        done -= TAKES[verb]
        done.add(GIVES[verb])
        return True


def follow(state: State, actions: Iterable[Sequence[str]], *, strict: bool) -> bool:
    """Do actions ``(verb, thing[, where])`` in turn; whether all of them could be done.

    Where `strict`, the first that cannot be done is the last; else it is passed over.
    """
    fine = True
    for action in actions:
        if not 2 <= len(action) <= 3 or not state.do(*action):
            fine = False
            if strict:
                break
    return fine
