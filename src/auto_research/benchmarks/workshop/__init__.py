"""The workshop: a small deterministic world with chains of related tasks, for training."""

from auto_research.benchmarks.workshop.benchmark import WorkshopBenchmark
from auto_research.benchmarks.workshop.jobs import Operation, Target, Truth

__all__ = ["Operation", "Target", "Truth", "WorkshopBenchmark"]
