"""The four base worlds of planbench-mini, by name."""

from collections.abc import Mapping

from auto_research.benchmarks.planbench.worlds.base import Counts, Drift, Instance, World
from auto_research.benchmarks.planbench.worlds.blocksworld import BLOCKSWORLD
from auto_research.benchmarks.planbench.worlds.depots import DEPOTS
from auto_research.benchmarks.planbench.worlds.logistics import LOGISTICS
from auto_research.benchmarks.planbench.worlds.satellite import SATELLITE

WORLDS: Mapping[str, World] = {
    world.name: world for world in (BLOCKSWORLD, LOGISTICS, DEPOTS, SATELLITE)
}

__all__ = ["WORLDS", "Counts", "Drift", "Instance", "World"]
