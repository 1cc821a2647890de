"""An executor's work on its node: groups of chains over one engine, each chain in a thread.

The event loop, which is the engine's, never waits for a world, a judge or a tokenizer.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auto_research.agent_research.agents.llm.options import Limits
from auto_research.agent_research.budget import Budget, Phase
from auto_research.agent_research.catalog import MethodSource, find
from auto_research.agent_research.chain import ChainJob
from auto_research.agent_research.checkpoint import states_of
from auto_research.agent_research.method import resolve_method
from auto_research.benchmarks.base import Benchmark, Task, world_opener
from auto_research.errors import UserError
from auto_research.hookspecs import BenchmarkOptions
from auto_research.plugins import Registry, load_plugins
from auto_research.training.trainable import require_trainable
from auto_research_openrlhf.executor.chains import RunChain, run_chain
from auto_research_openrlhf.executor.chat import Chat
from auto_research_openrlhf.executor.engine import Engine
from auto_research_openrlhf.executor.judges import Judges, Stream
from auto_research_openrlhf.executor.records import Records
from auto_research_openrlhf.executor.samples import Frame, credit, nothing, rows_of, samples_of
from auto_research_openrlhf.executor.siblings import Siblings
from auto_research_openrlhf.executor.talk import TalkAgent, TalkClient
from auto_research_openrlhf.executor.worlds import BoundedWorlds
from auto_research_openrlhf.label import Label, read_label
from auto_research_openrlhf.spec import FILE, Spec

log = logging.getLogger(__name__)

_CHAINS = 512  # threads: chains under way at once; most of them wait for the engine or a world

Sample = dict[str, Any]


@dataclass(frozen=True)
class _Prompt:
    """One prompt with all that its chains need."""

    label: Label
    tasks: tuple[Task, ...]
    engine: Engine
    chat: Chat
    context: int
    visit: int  # how often this row has been here before


class Node:
    """One executor. Raises UserError as it is made if the job's spec cannot be served here."""

    def __init__(self, spec: Spec, registry: Registry | None = None) -> None:
        self._registry = registry or load_plugins()
        self.spec = spec
        self._limits = Limits.model_validate({**spec.agent, "interactions": spec.turns})
        self._method = resolve_method(MethodSource(spec.method, FILE), self._registry)
        require_trainable(self._method, self._registry)
        benchmark = self._benchmark()
        self._units = benchmark.units_per_episode()
        opener = world_opener(benchmark)
        self._open_world = BoundedWorlds(opener, spec.worlds).open if opener else None
        self._judges = Judges(self._benchmark())
        self.records = Records(Path(spec.storage))
        self._pool = ThreadPoolExecutor(_CHAINS, thread_name_prefix="chain")
        self._siblings: Siblings[Sample] = Siblings()
        self._visits: Counter[tuple[bool, int]] = Counter()

    async def sample(
        self,
        prompt: str,
        label: str,
        params: Any,
        max_length: int,
        tokenizer: Any,
        engine: Any,
    ) -> Sample:
        """One sample of the prompt's group, which all calls that share `params` run together.

        Raises nothing: what cannot be run fails, with a valid sample.
        """
        asked = Engine(asyncio.get_running_loop(), engine, params)
        chat = Chat(tokenizer)

        async def run(size: int) -> Sequence[Sample]:
            frame = Frame(
                prompt,
                label,
                fallback=chat.plain(prompt),
                end=chat.end,
                length=max_length,
                with_log_probs=asked.wants_log_probs,
            )
            try:
                return await self._group(size, frame, asked, chat)
            except Exception as error:
                log.exception("a group broke off")
                self.records.fault("group", label, f"{type(error).__name__}: {error}")
                return [nothing(frame, self.spec.failure_reward) for _ in range(size)]

        return await self._siblings.join(params, label, run)

    def close(self) -> None:
        """End the judges and wait for the chains. Safe to call twice."""
        self._pool.shutdown(wait=True)
        self._judges.close()

    async def _group(self, size: int, frame: Frame, engine: Engine, chat: Chat) -> Sequence[Sample]:
        label = read_label(frame.label)
        visit = self._visits[label.evaluation, label.row]
        self._visits[label.evaluation, label.row] += 1
        loop = asyncio.get_running_loop()
        tasks = await loop.run_in_executor(self._pool, self._tasks, label)
        context = min(frame.length, self.spec.tokens)
        prompt = _Prompt(label, tasks, engine, chat, context, visit)
        siblings = -(-size // len(tasks))  # whole chains; what is too much is left out
        if siblings * len(tasks) != size:
            what = f"{size} samples are no multiple of {len(tasks)} tasks"
            self.records.fault("group", label.scenario, what)
        chains = await asyncio.gather(
            *(
                loop.run_in_executor(self._pool, self._chain, prompt, sibling)
                for sibling in range(siblings)
            )
        )
        done = await loop.run_in_executor(self._pool, self._finished, chains, frame, label)
        return done[:size]

    def _tasks(self, label: Label) -> tuple[Task, ...]:
        if label.benchmark != self.spec.benchmark:
            raise UserError(
                f"a row of benchmark {label.benchmark!r} in a job on {self.spec.benchmark!r}"
            )
        known = self._judges.tasks(label.split, label.seed, label.limit)
        return tuple(known[task] for task in label.tasks)

    def _chain(self, prompt: _Prompt, sibling: int) -> RunChain:
        label = prompt.label
        client = TalkClient(prompt.engine, prompt.chat, prompt.context, self.spec.tokens_per_turn)
        operators = self._method.build(self._registry)
        phase: Phase = "test" if label.evaluation else "training"
        job = ChainJob(
            name=f"{phase}-{label.row:05d}.{prompt.visit}-{sibling}",
            seed=label.seed,
            phase=phase,
            step=prompt.visit,
            group=None if label.evaluation else label.row,
            sibling=sibling,
            tasks=prompt.tasks,
            library=(),
            states=states_of(operators),
            budget=Budget(units=self._units),
            units_per_episode=self._units,
            verdicts_to_operators=True,  # only the reward sees them: they come after the chain
        )

        agent = TalkAgent(client, self._limits)
        stream = Stream(self._judges, label.split, label.seed)
        return run_chain(job, agent, client, operators, stream, self._open_world)

    def _finished(self, chains: Sequence[RunChain], frame: Frame, label: Label) -> list[Sample]:
        """Credit a group, and keep what is to be kept of it."""
        reward = self._method.build(self._registry).reward
        credited = credit(chains, reward, self.spec.failure_reward)
        self.records.finished(rows_of(chains, credited))
        for chain in chains:
            for fault in chain.faults:
                self.records.fault(fault.kind, fault.episode, fault.what)
        return samples_of(chains, credited, frame, raw=label.evaluation)

    def _benchmark(self) -> Benchmark:
        """One of its own each time: the worlds' lives, and the judges', do not hang together."""
        options = BenchmarkOptions(
            Path(self.spec.data_dir) if self.spec.data_dir else None,
            unsafe_worlds=self.spec.unsafe_worlds,
        )
        return find("benchmark", self.spec.benchmark, self._registry.benchmarks)(options)
