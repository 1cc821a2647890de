"""The data of the SFT stage: conversations of the agent `llm` that succeeded on train tasks.

The agent is run over the train scenarios by a method's own rollout, so that a conversation shows
the skills that were there. What answers it is a model behind a server (as in the paper, a strong
one), or the benchmark's reference programs. What the sealed judge calls a success is kept, once.

    python -m auto_research_openrlhf.demonstrate --benchmark appworld --scenarios 35 \\
        --model NAME --base-url URL --out demonstrations.jsonl

A row is ``{"messages": [...]}``, which OpenRLHF's SFT takes with ``data.multiturn``: it learns
every reply of the assistant and masks all else.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from auto_research.agent_research.agents.llm.agent import LlmAgent
from auto_research.agent_research.agents.llm.client import Asks, charge
from auto_research.agent_research.agents.llm.context import Message, estimate
from auto_research.agent_research.agents.llm.options import Options, read_options
from auto_research.agent_research.agents.llm.record import Answer
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.catalog import Entry
from auto_research.agent_research.durable import write_atomic
from auto_research.agent_research.method import load_method
from auto_research.agent_research.rows import EpisodeRow, json_line
from auto_research.agent_research.run import RunDir
from auto_research.benchmarks.base import Benchmark, Json, Referenced
from auto_research.errors import UserError
from auto_research.evaluate import prepare
from auto_research.furnishing import EvalRequest, opened_benchmark
from auto_research.plugins import Registry, load_plugins

MESSAGES = "messages"  # the column


@dataclass
class Listening:
    """Asks `inner`, and keeps each episode's conversation as far as it has come."""

    inner: Asks
    heard: dict[str, list[Message]] = field(default_factory=dict)

    def ask(self, messages: Sequence[Message], seed: int, meter: Meter) -> Answer:
        answer = self.inner.ask(messages, seed, meter)
        known = self.heard.get(meter.stream)
        # The skill writer asks the model too, after the attempt and about something else.
        if known is None or messages[0] == known[0]:
            reply = {"role": "assistant", "content": answer.text}
            self.heard[meter.stream] = [*messages, reply]
        return answer

    def close(self) -> None:
        self.inner.close()


@dataclass
class Programs:
    """Answers every task with its reference program, as one block of code.

    `programs` is by instruction: the longest that the task's message holds is the task's own.
    """

    programs: Mapping[str, str]

    def ask(self, messages: Sequence[Message], seed: int, meter: Meter) -> Answer:
        told = messages[1]["content"]
        mine = max((words for words in self.programs if words in told), key=len, default="")
        text = f"```python\n{self.programs[mine]}\n```" if mine else "No program is known."
        generated = estimate([{"content": text}])
        tokens = estimate(messages) + generated
        charge(meter, tokens, generated)
        return Answer(text, tokens=tokens, generated=generated)

    def close(self) -> None:
        """Nothing was opened."""


def demonstrations(
    request: EvalRequest, registry: Registry, client: Callable[[Options], Asks]
) -> tuple[list[dict[str, Json]], int]:
    """The rows for what succeeded, in stream order, and how many episodes were tried.

    Raises UserError if the method does not train on these scenarios, or the model is gone.
    """
    options = read_options(request.agent_options)
    listening = Listening(client(options))

    def agent(_: Mapping[str, str]) -> LlmAgent:
        """The agent `llm`, listened to."""
        return LlmAgent(options, client=listening)

    known = replace(registry, agents={**registry.agents, "llm": Entry("llm", agent, "builtin")})
    evaluation = prepare(request, known)
    if not evaluation.train:
        raise UserError(
            f"method {request.method.name!r} runs no train task",
            mend="choose one with a rollout, such as sage-paper, and --scenarios above 0",
        )
    with tempfile.TemporaryDirectory(prefix="demonstrations-") as folder:
        path = Path(folder) / "run"
        evaluation.train_only(path)
        with RunDir.open(path) as run:
            rows = [row for row in run.rows() if row.phase == "training"]
    found = list(_kept(rows, {name.partition("/")[2]: m for name, m in listening.heard.items()}))
    return found, len(rows)


def _kept(
    rows: Sequence[EpisodeRow], heard: Mapping[str, Sequence[Message]]
) -> Iterator[dict[str, Json]]:
    seen: set[str] = set()
    for row in rows:
        if row.success is not True or row.episode not in heard:
            continue
        messages: list[Json] = [dict(message) for message in heard[row.episode]]
        text = json.dumps(messages)
        if text not in seen:  # siblings may say the same
            seen.add(text)
            yield {MESSAGES: messages, "task": row.task, "episode": row.episode}


def reference_programs(benchmark: Benchmark, seed: int, scenarios: int) -> Programs:
    """Its programs for the train tasks. Raises UserError if it has none."""
    if not isinstance(benchmark, Referenced):
        raise UserError(
            f"the benchmark {benchmark.name!r} has no reference programs",
            mend="let a model do the tasks: --model NAME --base-url URL",
        )
    tasks = [t for s in benchmark.scenarios("train", seed, scenarios) for t in s.tasks]
    return Programs({task.instruction: benchmark.reference(task) for task in tasks})


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if the file stands there, 2 if what was asked for cannot be."""
    asked = _parser().parse_args(arguments)
    try:
        print(json.dumps(_written(asked), sort_keys=True))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _written(asked: argparse.Namespace) -> dict[str, Json]:
    registry = load_plugins()
    named = ("model", "base_url", "temperature", "max_tokens", "context_tokens", "record", "replay")
    given = {n: str(getattr(asked, n)) for n in named if getattr(asked, n) is not None}
    if asked.expert:
        given.setdefault("model", "reference-programs")
    request = EvalRequest(
        method=load_method(asked.method, registry, asked.set or ()),
        benchmark=asked.benchmark,
        agent="llm",
        episodes=1,  # of validation, which is prepared and not run
        seed=asked.seed,
        train_seed=asked.seed,
        train_scenarios=asked.scenarios,
        split="validation",
        data_dir=asked.data_dir,
        agent_options=given,
        unsafe_worlds=asked.unsafe_worlds,
    )

    def client(options: Options) -> Asks:
        if asked.expert:
            benchmark = opened_benchmark(request, registry)
            return reference_programs(benchmark, asked.seed, asked.scenarios)
        return LlmAgent(options).client

    rows, tried = demonstrations(request, registry, client)
    if not rows:
        raise UserError(f"none of {tried} episodes succeeded", mend="a stronger model, more tasks")
    content = b"".join(map(json_line, rows))
    digest = hashlib.sha256(content).hexdigest()
    write_atomic(asked.out, content)
    told: dict[str, Json] = {"rows": len(rows), "tried": tried, "sha256": digest}
    about = {**told, "benchmark": asked.benchmark, "seed": asked.seed, "agent": given}
    write_atomic(asked.out.with_suffix(".json"), json.dumps(about, indent=1).encode())
    return {**told, "path": str(asked.out)}


def _parser() -> argparse.ArgumentParser:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m auto_research_openrlhf.demonstrate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--out", type=Path, required=True, help="a .jsonl file")
    parser.add_argument("--method", default="sage-paper", help="whose rollout runs the tasks")
    parser.add_argument("--set", action="append", help="change the method: rollout.siblings=4")
    parser.add_argument("--seed", type=int, default=0, help="names the stream of train scenarios")
    parser.add_argument("--scenarios", type=int, default=35, help="train scenarios to run")
    parser.add_argument("--data-dir", type=Path, help="data of a benchmark on disk")
    parser.add_argument("--unsafe-worlds", action="store_true")
    parser.add_argument("--expert", action="store_true", help="answer with reference programs")
    parser.add_argument("--model", help="the model's name at the server")
    parser.add_argument("--base-url", help="an OpenAI-compatible server; its key: OPENAI_API_KEY")
    parser.add_argument("--temperature", type=float, help="of the replies")
    parser.add_argument("--max-tokens", type=int, help="of one reply")
    parser.add_argument("--context-tokens", type=int, help="of prompt and reply together")
    parser.add_argument("--record", type=Path, help="keep every reply in this file")
    parser.add_argument("--replay", type=Path, help="take every reply from this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
