"""In the engine's process, for `on_cpu`: weights from a file in place of a broadcast by NCCL."""

from __future__ import annotations

import os
from typing import Any


class Weights:
    """A vLLM worker extension with the method of OpenRLHF's own."""

    model_runner: Any

    def update_weight(self, name: str, dtype: Any, shape: Any, empty_cache: bool = False) -> None:
        """Load one weight. Raises ValueError if it is not the one that was announced."""
        from safetensors import safe_open

        with safe_open(os.environ["AUTO_RESEARCH_WEIGHTS"], framework="pt") as file:
            weight = file.get_tensor(name)
        if weight.dtype != dtype or tuple(weight.shape) != tuple(shape):
            raise ValueError(f"{name}: {weight.dtype} {tuple(weight.shape)}, not {dtype} {shape}")
        self.model_runner.model.load_weights(weights=[(name, weight)])
