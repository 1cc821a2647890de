"""The file for `--train.agent_func_path`: OpenRLHF's agent interface, and nothing else."""

from __future__ import annotations

from typing import Any

from openrlhf.utils.agent import AgentExecutorBase

from auto_research_openrlhf.executor.node import Node
from auto_research_openrlhf.spec import read_spec


class AgentExecutor(AgentExecutorBase):
    """One for each engine; serves every prompt of it. What it is told stands in the job's spec."""

    def __init__(self) -> None:
        self._node = Node(read_spec())

    async def execute(
        self,
        prompt: str,
        label: str,
        sampling_params: Any,
        max_length: int,
        hf_tokenizer: Any,
        llm_engine: Any,
        images: Any = None,
    ) -> dict[str, Any]:
        """One sample of a group; see `Node.sample`. Raises nothing."""
        return await self._node.sample(
            prompt, label, sampling_params, max_length, hf_tokenizer, llm_engine
        )
