"""The backend `openrlhf` as a plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from auto_research.hookspecs import hookimpl
from auto_research.plugins import Registry


@hookimpl
def register_backends() -> Mapping[str, Callable[..., Any]]:
    return {"openrlhf": _openrlhf}


def _openrlhf(registry: Registry) -> Any:
    """OpenRLHF GRPO on a Ray, Slurm or Kubernetes cluster."""
    from auto_research_openrlhf.backend import OpenRlhf

    return OpenRlhf(registry)
