"""The learner of the agent `micro`: an optimizer step on every batch that a run trains on.

Its episodes carry what was sampled and how likely it was; their advantages come from the method's
own reward. Nothing of it is drawn from torch's global generator, so that a run that was killed
goes on with the same weights, bit by bit.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from auto_research.agent_research.agents.micro.agent import MicroAgent
from auto_research.agent_research.chain import ChainJob, ChainOutcome
from auto_research.agent_research.durable import write_atomic
from auto_research.agent_research.operators import CreditedGroup
from auto_research.rng import derive
from auto_research.training.figures import rollout_figures
from auto_research.training.grpo import (
    Objective,
    Tally,
    finite_step,
    policy_loss,
    token_log_probs,
)
from auto_research.training.local_config import LocalConfig
from auto_research.training.log import TrainingLog

_TOGETHER = 32  # sequences in one forward pass: what a laptop's caches hold

Validate = Callable[[ChainJob], Mapping[str, float]]


@dataclass(frozen=True)
class Sampled:
    """One sampled episode to learn from: `tokens` follow `prompt`; all have the tokens' shape."""

    prompt: Sequence[int]
    tokens: Sequence[int]
    mask: Sequence[int]
    log_probs: Sequence[float]
    advantage: float

    def __len__(self) -> int:
        return len(self.prompt) + len(self.tokens)


@dataclass
class Standing:
    """How far the training has come, and the best that validation has seen."""

    iteration: int = 0
    best: float = -1.0
    best_weights: dict[str, Tensor] | None = None
    worse: int = 0  # validations in a row that were no better

    def to_state(self) -> dict[str, Any]:
        return dict(vars(self))


class PolicyLearner:
    """A `Learner`. `validate` measures the model as it is; `log` keeps the figures."""

    def __init__(
        self,
        agent: MicroAgent,
        config: LocalConfig,
        seed: int,
        folder: Path,
        validate: Validate,
        log: TrainingLog,
    ) -> None:
        self.agent, self.config, self.seed, self.folder = agent, config, seed, folder
        self.groups = config.rl.groups
        self._model = agent.policy.model
        self._optimizer = torch.optim.AdamW(
            self._model.parameters(), lr=config.rl.learning_rate, betas=(0.9, 0.95), weight_decay=0
        )
        self._validate, self._log = validate, log
        self._standing = Standing()
        self._start = _copy(self._model)
        rl = config.rl
        self._objective = Objective(
            rl.clip_low, rl.clip_high, rl.aggregation, kl_weight=rl.kl_weight
        )

    def learn(
        self, groups: Sequence[CreditedGroup], outcomes: Sequence[ChainOutcome], now: ChainJob
    ) -> bool:
        """One iteration: the steps, the figures, and a validation where one is due."""
        standing = self._standing
        self._log.begin("learn")
        figures = rollout_figures(groups, outcomes) | self._steps(_sequences(groups, outcomes))
        standing.iteration += 1
        if standing.iteration % self.config.validation.every == 0:
            self._log.begin("validate")
            figures |= self._validated(now)
        self._log.end_iteration(standing.iteration, figures)
        return not self._is_over()

    def save(self, batch: int) -> None:
        """One file a commit; the one before stays until this batch is committed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        state = {
            "model": self._model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "standing": self._standing.to_state(),
        }
        content = io.BytesIO()
        torch.save(state, content)
        write_atomic(self._path(batch), content.getvalue())
        self._log.save(self._standing.iteration)
        for path in self.folder.glob("batch-*.pt"):
            if path not in (self._path(batch), self._path(batch - 1)):
                path.unlink()

    def restore(self, batch: int) -> None:
        """See `Learner`. The test phase commits batches of its own, which save too."""
        if batch >= 0:
            state = torch.load(self._path(batch), map_location="cpu", weights_only=True)
            self._model.load_state_dict(state["model"])
            self._optimizer.load_state_dict(state["optimizer"])
            self._standing = Standing(**state["standing"])
        self._log.restore(self._standing.iteration)

    def finish(self) -> None:
        """Take the weights that are kept; from here on the agent is greedy."""
        best = self._standing.best_weights
        if self.config.validation.keep == "best" and best is not None:
            self._model.load_state_dict(best)
        self.agent.temperature = 0.0
        self._log.close()

    @property
    def iteration(self) -> int:
        return self._standing.iteration

    def _path(self, batch: int) -> Path:
        return self.folder / f"batch-{batch:06d}.pt"

    def _is_over(self) -> bool:
        patience = self.config.validation.patience
        out_of_patience = bool(patience) and self._standing.worse >= patience
        return out_of_patience or self._standing.iteration >= self.config.rl.iterations

    def _validated(self, now: ChainJob) -> dict[str, float]:
        standing = self._standing
        found = self._validate(now)
        better = found["sgc"] > standing.best
        standing.worse = 0 if better else standing.worse + 1
        if better:
            standing.best, standing.best_weights = found["sgc"], _copy(self._model)
        return {f"validation/{name}": value for name, value in found.items()}

    def _steps(self, sequences: Sequence[Sampled]) -> dict[str, float]:
        """The optimizer's steps. A sequence without an advantage only counts in the mean."""
        rl = self.config.rl
        telling = [number for number, s in enumerate(sequences) if s.advantage != 0.0]
        derive(self.seed, "learner", self._standing.iteration).shuffle(telling)
        total, entropy, norms, skipped = Tally(), 0.0, list[float](), 0
        self._model.train()
        for part in range(rl.minibatches):
            mine = sorted(telling[part :: rl.minibatches], key=lambda n: (len(sequences[n]), n))
            if not mine:
                continue
            whole = len(sequences) / rl.minibatches
            if rl.aggregation == "token-mean":
                whole = sum(sum(s.mask) for s in sequences) / rl.minibatches
            for start in range(0, len(mine), _TOGETHER):
                batch = [sequences[number] for number in mine[start : start + _TOGETHER]]
                tally, open_choice = self._backward(batch, whole)
                total, entropy = total + tally, entropy + open_choice
            norm = finite_step(self._optimizer, self._model.parameters(), rl.max_norm)
            skipped += norm is None
            norms += [] if norm is None else [norm]
        self._model.eval()
        return {
            **total.figures(),
            "entropy": entropy / max(total.tokens, 1),
            "gradient_norm": sum(norms) / max(len(norms), 1),
            "skipped_steps": float(skipped),
            "trained_tokens": float(sum(len(sequences[number]) for number in telling)),
        }

    def _backward(self, batch: Sequence[Sampled], whole: float) -> tuple[Tally, float]:
        device = self.agent.policy.model.head.weight.device
        tokens, mask, old, advantages = (part.to(device) for part in _padded(batch))
        temperature = self.config.rl.temperature
        log_probs, entropy = token_log_probs(self._model(tokens[:, :-1]), tokens, temperature)
        reference = None
        if self._objective.kl_weight:
            with torch.no_grad():
                logits = torch.func.functional_call(self._model, self._start, (tokens[:, :-1],))
                reference, _ = token_log_probs(logits, tokens, temperature)
        loss, tally = policy_loss(
            log_probs, old, advantages, mask, self._objective, reference=reference, whole=whole
        )
        loss.backward()
        return tally, float((entropy * mask).sum())


def _sequences(groups: Sequence[CreditedGroup], outcomes: Sequence[ChainOutcome]) -> list[Sampled]:
    """The batch's episodes in order, each with its advantage; those that asked no model are left
    out. The rows of a chain and its episodes are the same in number and order."""
    advantages = [row for group in groups for row in group.advantages]
    found: list[Sampled] = []
    for outcome, row in zip(outcomes, advantages, strict=True):
        for episode, advantage in zip(outcome.episodes, row, strict=True):
            said: Any = episode.evidence
            if isinstance(said, Mapping) and said.get("tokens"):
                found.append(
                    Sampled(
                        said["prompt"], said["tokens"], said["mask"], said["log_probs"], advantage
                    )
                )
    return found


def _padded(batch: Sequence[Sampled]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Tokens (B, T), and mask and old log-probabilities of tokens 1 to T (B, T - 1), and the
    advantages (B,)."""
    length = max(map(len, batch))
    tokens = torch.zeros(len(batch), length, dtype=torch.long)
    mask, old = torch.zeros(len(batch), length), torch.zeros(len(batch), length)
    for row, s in enumerate(batch):
        start, end = len(s.prompt), len(s)
        tokens[row, :end] = torch.tensor([*s.prompt, *s.tokens])
        mask[row, start:end] = torch.tensor(s.mask, dtype=torch.float)
        old[row, start:end] = torch.tensor(s.log_probs)
    return tokens, mask[:, 1:], old[:, 1:], torch.tensor([s.advantage for s in batch])


def _copy(model: torch.nn.Module) -> dict[str, Tensor]:
    return {name: part.detach().clone() for name, part in model.state_dict().items()}
