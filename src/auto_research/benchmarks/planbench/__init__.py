"""PlanBench: the generated mini-suite, and PlanBench's own files (or any PDDL folder)."""

from auto_research.benchmarks.planbench.mini import MiniBenchmark
from auto_research.benchmarks.planbench.real import PlanBench

__all__ = ["MiniBenchmark", "PlanBench"]
