"""First thing that a job does on its node: see that everything is there, before GPUs are taken.

What the launcher could not see from outside is looked at here: the releases, the executor, the
benchmark's data, the storage. What is wrong is one line in the job's log.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from auto_research.agent_research.catalog import find
from auto_research.agent_research.durable import write_atomic
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError
from auto_research.hookspecs import BenchmarkOptions
from auto_research.plugins import load_plugins
from auto_research_openrlhf import release
from auto_research_openrlhf.spec import FILE, Spec, read_spec

EXECUTOR = "auto_research_openrlhf.executor.agent"
BENCHMARK = "benchmark.json"  # in the job's folder: what was trained on


def check(spec: Spec, *, openrlhf: bool) -> None:
    """Raises UserError for the first thing that is missing on this node.

    `openrlhf`: the job is OpenRLHF's own trainer, not another program with the same flags.
    """
    if openrlhf:
        for package, pinned in (("openrlhf", release.VERSION), ("ray", release.RAY)):
            _release(package, pinned)
    if spec.turns and openrlhf:
        try:
            importlib.import_module(EXECUTOR)
        except Exception as error:
            raise UserError(f"the executor cannot be imported: {error}", where=EXECUTOR) from error
    folder = _storage(spec)
    if spec.turns:
        write_atomic(folder / BENCHMARK, json.dumps(_facts(spec), sort_keys=True).encode())


def _facts(spec: Spec) -> dict[str, Json]:
    """What the benchmark is, here. Raises UserError if this node cannot serve it."""
    options = BenchmarkOptions(
        Path(spec.data_dir) if spec.data_dir else None, unsafe_worlds=spec.unsafe_worlds
    )
    benchmark = find("benchmark", spec.benchmark, load_plugins().benchmarks)(options)
    return {
        "name": benchmark.name,
        "content_hash": benchmark.content_hash(),
        "units_per_episode": benchmark.units_per_episode(),
    }


def _release(package: str, pinned: str) -> None:
    try:
        found = version(package)
    except PackageNotFoundError:
        found = "none"
    if found != pinned:
        raise UserError(
            f"{package} {found} is installed, this job is for {pinned}",
            where="the node",
            mend=f"pip install {package}=={pinned} in its image",
        )


def _storage(spec: Spec) -> Path:
    """The job's folder, claimed; it may hold an earlier try of the same training only."""
    folder = Path(spec.storage)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        kept = folder / FILE
        if not kept.exists():
            fresh = folder / f"{FILE}.{os.getpid()}"
            fresh.write_text(spec.text(), encoding="utf-8")
            fresh.replace(kept)
    except OSError as error:
        raise UserError(
            f"the job's folder cannot be written: {error.strerror}", where=str(folder)
        ) from None
    if kept.read_text(encoding="utf-8") != spec.text():
        raise UserError(
            "another training stands there, and this one would go on from its checkpoint",
            where=str(folder),
            mend="choose another --name, or move that folder away",
        )
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if all is well, 2 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--another-trainer", action="store_true")
    asked = parser.parse_args(arguments)
    try:
        check(read_spec(), openrlhf=not asked.another_trainer)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
