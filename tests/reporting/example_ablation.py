"""An ablation's `--json` object for the tests of its page and table."""

from __future__ import annotations

from typing import Any


def figure(value: float, half: float = 0.04) -> dict[str, Any]:
    scenarios = {"low": value - half / 2, "high": value + half / 2}
    return {"value": value, "low": value - half, "high": value + half, "scenarios": scenarios}


def figures(shift: float) -> dict[str, Any]:
    shares = {name: figure(0.5 + shift) for name in ("tgc", "sgc", "use")}
    amounts = {name: figure(20 + 9 * shift, 1) for name in ("steps", "actions", "tokens")}
    return shares | amounts


def arm(name: str, number: int, **more: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "arm": name,
        "title": f"the arm {name}, which is told in some more words than its name",
        "method": "sage-paper",
        "model_of": None,
        "sft_steps": 800,
        "own_steps": 0,
        "rollouts": 11520,
        "optimizer_steps": 120,
        "max_tokens": 1267200,
        "runs": [f"{name}-seed{seed}" for seed in range(3)],
        "seeds": [0, 1, 2],
        "failed": {},
        "scenarios": 300,
        "figures": figures(0.02 * number),
        "difference": {**figures(0.01), "tokens": figure(-12.5, 3)},
        "paired_seeds": [0, 1, 2],
        "paper": [],
    }
    return known | more


def row(name: str, *agreement: str) -> dict[str, Any]:
    agreed = dict(zip(("sgc", "tgc", "tokens"), agreement, strict=True)) if agreement else None
    less = {"tgc": 0.059, "sgc": 0.095, "steps": None, "tokens": -191}
    return {
        "row": name,
        "source": "table 1",
        "tgc": 0.661,
        "sgc": 0.512,
        "steps": None,
        "tokens": 1284,
        "difference": less if agreed else None,
        "agreement": agreed,
    }


def curves(number: int) -> dict[str, Any]:
    def points(scale: float, every: int = 1) -> list[list[float]]:
        found = []
        for at in range(every, 61, every):
            mean = scale * (0.3 + 0.01 * at / 2 + 0.02 * number)
            found.append([at, mean, 0.93 * mean, 1.05 * mean])
        return found

    shares = ("success1", "success2", "use", "define", "zero_variance")
    return {
        **{name: points(1) for name in shares},
        "R1": points(1.8),
        "R2": points(2),
        "tokens": points(70),
        "entropy": points(0.6),
        "validation/sgc": points(0.8, 20),
    }


def told(attack: str = "") -> dict[str, Any]:
    """Ten arms, two of them tests of another's model; one run has failed."""
    names = ("grpo", "sage", "outcome", "chain", "length-1", "length-3", "base", "self")
    grpo = [
        row(
            "SFT, then GRPO without a library",
            *["same direction, interval excludes 0"] * 2,
            "opposite",
        ),
        row(
            "GRPO alone", "same direction, not established", "no difference", "paper has no figure"
        ),
    ]
    arms = [
        arm("sft", 0, rollouts=0, optimizer_steps=0, max_tokens=0),
        arm("grpo", 1, paper=grpo),
        arm("sage", 3, difference=None, paired_seeds=[], paper=[row("SAGE")]),
        *(arm(name, n) for n, name in enumerate(names[2:], start=2)),
        arm("ngram", 2, model_of="sage"),
        arm(
            "lost",
            2,
            figures=None,
            difference=None,
            runs=[],
            seeds=[],
            failed={"lost-seed0": f"no start {attack}"},
        ),
    ]
    return {
        "directory": "runs/ablate-sage",
        "paper": {"name": "sage", "title": f"SAGE {attack}", "citation": "arXiv 2512.17102"},
        "preset": "full",
        "benchmark": "workshop-hid",
        "seeds": [0, 1, 2],
        "reference": "sage",
        "test": {"episodes": 900, "seed": 7, "split": "validation"},
        "budget": {"rollouts": 11520, "optimizer_steps": 120, "max_tokens": 1267200},
        "level": 0.95,
        "resamples": 10000,
        "arms": arms,
        "before_rl": ["sft"],
        "curves": {name: curves(n) for n, name in enumerate(names)},
        "warnings": [f"lost-seed0 failed: no start {attack}"],
    }
