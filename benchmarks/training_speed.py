"""Tokens a second in sampling and in training: ours against TRL's GRPOTrainer, on one machine.

    python benchmarks/training_speed.py --trl-python /elsewhere/bin/python

Both sides train a decoder of the same width, depth, heads and vocabulary (and about as many
weights: Qwen2's gated feed-forward part gets 8/3 of the width) in float32, with as many threads.
An iteration samples completions of given lengths, in groups after the same prompts, then takes one
optimizer step over all of them in micro-batches of equal size. Prompts and lengths are those of
demonstrations in the workshop; tokens are counted without padding. Each side runs in a fresh
process, in turns; the medians are compared. TRL needs an environment that has `trl` (pip install
torch trl); what is timed there is `_generate` (sampling) and a whole training step less the making
of its batch (training).

Not equal: TRL decodes its completions to texts and logs more figures.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SEED = 7
TARGET = 2.0
now = time.perf_counter


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trl-python", default=sys.executable, help="an environment with trl")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=3, help="timed, after one that is not")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--groups", type=int, default=12)
    parser.add_argument("--siblings", type=int, default=8)
    parser.add_argument("--micro-batch", type=int, default=16)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument(
        "--cpu-time", action="store_true", help="seconds of CPU, for a machine that is busy"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--side", choices=("ours", "trl"), help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


class Work:
    """What both sides do: `prompts`, one a group, and `lengths` of completions, one a sibling."""

    def __init__(self, asked: argparse.Namespace) -> None:
        data = json.loads(asked.work.read_text())
        self.words: int = data["words"]
        self.prompts: list[list[int]] = data["prompts"]
        self.lengths: list[int] = data["lengths"]
        prompted = asked.siblings * sum(map(len, self.prompts))
        self._sampled = asked.iterations * sum(self.lengths)
        self._trained = asked.iterations * (prompted + sum(self.lengths))

    def rates(self, sampling: float, training: float) -> dict[str, float]:
        """Of seconds that all timed iterations took."""
        return {"sampled": self._sampled / sampling, "trained": self._trained / training}


def drawn(asked: argparse.Namespace) -> dict[str, Any]:
    """Work from the workshop."""
    from auto_research.benchmarks.workshop.benchmark import WorkshopBenchmark
    from auto_research.training.demonstrations import WORKSHOP, demonstrate

    count = asked.groups * asked.siblings
    shown = demonstrate(WorkshopBenchmark("hid"), count, SEED).kept
    return {
        "words": len(WORKSHOP.words),
        "prompts": [WORKSHOP.encode(d.prompt) for d in shown[: asked.groups]],
        "lengths": [len(d.response) for d in shown],
    }


def ours(asked: argparse.Namespace) -> dict[str, float]:
    """Prompts without a world: nothing answers, and nothing ends a completion but its length. The
    micro-batches are of like length, as in training."""
    import torch

    from auto_research.agent_research.agents.micro.model import Model, Shape
    from auto_research.agent_research.agents.micro.sampler import Request, sample
    from auto_research.training.grpo import Objective, finite_step, policy_loss, token_log_probs

    class Counting:
        def __init__(self, length: int) -> None:
            self.left, self.done = length, False

        def hear(self, token: int) -> int | None:
            self.left -= 1
            self.done = self.left == 0
            return None

    work = Work(asked)
    torch.set_num_threads(asked.threads)
    shape = Shape(work.words, asked.width, asked.layers, asked.heads)
    model = Model(shape, torch.Generator().manual_seed(SEED))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    texts = [text for text in work.prompts for _ in range(asked.siblings)]
    order = sorted(range(len(texts)), key=lambda n: len(texts[n]) + work.lengths[n])
    rng = random.Random(SEED)

    def iteration() -> tuple[float, float]:
        begun = now()
        requests = [
            Request(text, Counting(length), random.Random(rng.random()))
            for text, length in zip(texts, work.lengths, strict=True)
        ]
        sampled = sample(model, requests, 1.0, max(work.lengths))
        between = now()
        for start in range(0, len(order), asked.micro_batch):
            rows = order[start : start + asked.micro_batch]
            longest = max(len(texts[n]) + work.lengths[n] for n in rows)
            tokens = torch.zeros(len(rows), longest, dtype=torch.long)
            old, mask = torch.zeros(tokens.shape), torch.zeros(tokens.shape)
            for row, n in enumerate(rows):
                first, last = len(texts[n]), len(texts[n]) + work.lengths[n]
                tokens[row, :last] = torch.tensor([*texts[n], *sampled[n].tokens])
                old[row, first:last] = torch.tensor(sampled[n].log_probs)
                mask[row, first:last] = 1
            advantages = torch.tensor([rng.gauss(0, 1) for _ in rows])
            log_probs, _ = token_log_probs(model(tokens[:, :-1]), tokens)
            loss, _ = policy_loss(
                log_probs, old[:, 1:], advantages, mask[:, 1:], Objective(), whole=len(texts)
            )
            loss.backward()
        finite_step(optimizer, model.parameters(), 1.0)
        return between - begun, now() - between

    iteration()
    timed = [iteration() for _ in range(asked.iterations)]
    return {
        **work.rates(*(sum(part) for part in zip(*timed, strict=True))),
        "weights": float(sum(part.numel() for part in model.parameters())),
    }


def theirs(asked: argparse.Namespace) -> dict[str, float]:
    """See `training_speed_trl`."""
    from training_speed_trl import trl

    return trl(asked, Work(asked), now, SEED)


def measured(asked: argparse.Namespace, side: str, work: Path) -> dict[str, float]:
    """One side in a fresh process."""
    python = asked.trl_python if side == "trl" else sys.executable
    done = subprocess.run(
        [python, *sys.argv, "--side", side, "--work", work],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    global now
    asked = options()
    if asked.cpu_time:
        now = time.process_time
    if asked.groups * asked.siblings % asked.micro_batch:
        sys.exit("groups times siblings must be a multiple of the micro-batch")
    if asked.side:
        print(json.dumps(ours(asked) if asked.side == "ours" else theirs(asked)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch) / "work.json"
        work.write_text(json.dumps(drawn(asked)))
        rounds = [
            {side: measured(asked, side, work) for side in ("ours", "trl")}
            for _ in range(asked.rounds)
        ]
    medians = {
        side: {name: statistics.median(r[side][name] for r in rounds) for name in rounds[0][side]}
        for side in ("ours", "trl")
    }
    ratios = {name: medians["ours"][name] / medians["trl"][name] for name in ("sampled", "trained")}
    if asked.json:
        print(json.dumps({"rounds": rounds, "medians": medians, "ratios": ratios}))
    else:
        for name, ratio in ratios.items():
            mine, other = medians["ours"][name], medians["trl"][name]
            print(f"{name}: ours {mine:,.0f} tokens/s, TRL {other:,.0f}, ratio {ratio:.2f}")
        mine, other = medians["ours"]["weights"], medians["trl"]["weights"]
        print(f"weights: ours {mine:,.0f}, TRL {other:,.0f}")
    if min(ratios.values()) < TARGET:
        sys.exit(f"below {TARGET} times TRL")


if __name__ == "__main__":
    main()
