"""What a reader must know before believing the figures: how they were got, and what to doubt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from auto_research.reporting.summary import Summary
from auto_research.reporting.words import count

# Flags by name, as runs record them; an unknown one is shown as it is written.
FLAGS: Mapping[str, str] = {
    "expert": "The expert agent read the reference answers: this run checks the benchmark, "
    "it measures no method.",
    "task-fed-a-skill": "A test task was evaluated with a skill that the same task had fed: "
    "its success is no evidence of transfer.",
    "safety-net": "A wall-clock safety net fired: this run may not repeat exactly.",
    "unsafe-worlds": "Worlds were not isolated (--unsafe-worlds): code in them could read the "
    "answers.",
    "strayed-code": "Code in a world looked for files, processes or a network outside of it. "
    "Isolated worlds hold nothing there; the transcripts show what it wanted.",
    "world-broke": "The process of a world ended while a task was being done in it, by code in it "
    "or for want of memory: that task counts as failed.",
    "test-feedback-verdict": "Operators saw the sealed verdict during the test "
    "(--test-feedback verdict): not comparable with runs that did not.",
}


def warnings(
    config: Mapping[str, Any], metrics: Mapping[str, Any], summary: Summary
) -> Iterator[str]:
    """Every reason to doubt or set apart this run's figures, one sentence each."""
    planned = config.get("episodes")
    if not metrics:
        of = f" of {count(planned)}" if isinstance(planned, int) else ""
        yield (
            f"Unfinished: {count(summary.test_episodes)}{of} test episodes so far. "
            "The figures are plain means of those, without intervals."
        )
    flags = dict.fromkeys(_flags(config.get("flags")) + _flags(metrics.get("flags")))
    if config.get("test_feedback") == "verdict":
        flags["test-feedback-verdict"] = None
    if config.get("agent") == "expert":
        flags["expert"] = None
    for flag in flags:
        yield FLAGS.get(flag.replace("_", "-").replace(" ", "-"), flag)


def notes(config: Mapping[str, Any], metrics: Mapping[str, Any], summary: Summary) -> Iterator[str]:
    """How the figures were got, one sentence each."""
    training, probes = (summary.by_phase.get(phase, 0) for phase in ("training", "probes"))
    if training or probes:
        yield (
            f"Training took {count(training)} episodes in {count(len(summary.groups))} groups, "
            f"and probes {count(probes)} more. All of them are charged."
        )
    else:
        yield "There was no training: the test starts from what the method had at the outset."
    yield (
        f"The test ran {count(summary.test_episodes)} episodes in "
        f"{count(len(summary.grid))} scenarios, judged by a sealed evaluator."
    )
    yield "Cost is an episode's units over its budget, at most 1."
    if metrics:
        yield "Intervals are 95 %, clustered by scenario."
    errors = summary.errors.get("test", 0)
    ended = f"{count(errors)} test {'episode' if errors == 1 else 'episodes'} ended in one"
    yield f"Errors count as failures; {ended if errors else 'no test episode ended in one'}."


def _flags(flags: object) -> list[str]:
    """Flags given as a list, as a mapping of those that are set, or as one word."""
    if isinstance(flags, Mapping):
        return [str(name) for name, value in flags.items() if value]
    if isinstance(flags, list | tuple):
        return [str(flag) for flag in flags]
    return [str(flags)] if flags else []
