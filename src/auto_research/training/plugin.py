"""The backend `local` as a plugin of its own: the built-ins stand below training and know none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from auto_research.errors import UserError
from auto_research.hookspecs import hookimpl

if TYPE_CHECKING:
    from auto_research.plugins import Registry


@hookimpl
def register_backends() -> Mapping[str, Callable[..., Any]]:
    return {"local": _local}


def _local(registry: Registry) -> Any:
    """Trains the agent `micro` on this machine: a supervised start, then GRPO."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise UserError(
            "backend 'local' needs torch, which is not installed",
            mend="pip install 'auto-research[train]'",
        ) from None
    from auto_research.training.local import LocalBackend

    return LocalBackend(registry)
