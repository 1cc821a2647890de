"""An ablation small enough for a test: tiny models, two iterations, six test episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from auto_research import strict_yaml
from auto_research.benchmarks.base import Json
from auto_research.plugins import load_plugins
from auto_research.training.ablation_paper import Paper
from auto_research.training.ablation_plan import Plan, make_plan

SMALL = ["rollout.siblings=2", "rollout.groups_per_batch=1"]
ARMS: Mapping[str, Json] = {
    "sft": {
        "title": "first stage alone",
        "method": "sage-paper",
        "set": SMALL,
        "config": {"rl": {"iterations": 0}},
    },
    "grpo": {
        "title": "GRPO",
        "method": "grpo",
        "set": SMALL,
        "paper": [
            {"row": "after SFT", "sgc": 0.512, "tokens": 1284, "source": "table 1"},
            {"row": "without SFT", "tgc": 0.692, "sgc": 0.518, "tokens": 3613, "source": "table 1"},
        ],
    },
    "sage": {
        "title": "SAGE",
        "method": "sage-paper",
        "set": SMALL,
        "paper": [{"row": "SAGE", "tgc": 0.72, "sgc": 0.607, "tokens": 1475, "source": "table 1"}],
    },
    "off": {
        "title": "library off",
        "method": "grpo",
        "model_of": "sage",
    },
}
CONFIG: Mapping[str, Json] = {
    "rl": {"iterations": 1, "groups": 2},
    "validation": {"every": 1, "scenarios": 2},
    "test": {"episodes": 6, "split": "validation", "seed": 7},
}


def toy(**arms: Json) -> dict[str, Json]:
    """A paper as data; `arms` are laid over those above, None takes one away."""
    changed = {**ARMS, **arms}
    return {
        "name": "toy",
        "title": "A toy",
        "citation": "nobody",
        "benchmark": "workshop-hid",
        "reference": "sage",
        "presets": {"quick": {"seeds": 2}},
        "arms": {name: arm for name, arm in changed.items() if arm is not None},
    }


def arm(name: str, **changes: Json) -> dict[str, Json]:
    """One of the arms above with changes."""
    known = ARMS[name]
    assert isinstance(known, Mapping)
    return {**known, **changes}


def planned(
    folder: Path,
    paper: Mapping[str, Json],
    *,
    arms: Sequence[str] = (),
    seeds: Sequence[int] = (0, 1),
    config: Mapping[str, Json] = CONFIG,
) -> Plan:
    """The plan of an ablation of all arms, or of some."""
    made = Paper.model_validate(paper)
    return make_plan(
        made,
        load_plugins(),
        arms=arms or list(made.arms),
        seeds=seeds,
        directory=folder,
        config=config,
    )


def write(folder: Path, paper: Mapping[str, Json], config: Mapping[str, Json]) -> list[str]:
    """Both as files; what stands on the command line for them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "toy.yaml").write_text(strict_yaml.dump(paper))
    (folder / "config.yaml").write_text(strict_yaml.dump(config))
    return ["--paper", str(folder / "toy.yaml"), "--config", str(folder / "config.yaml")]
