"""A small decoder-only transformer, and the cache with which it goes on word by word.

Pre-norm blocks, rotary positions (RoFormer, arXiv 2104.09864), no dropout. Attention is relative
in positions, so that a prompt may be padded on its left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_ROPE_BASE = 1000.0


@dataclass(frozen=True)
class Shape:
    """How large a model is; `context` is the most positions that a sequence may have."""

    words: int
    width: int = 96
    layers: int = 3
    heads: int = 4
    context: int = 512

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if min(self.words, self.width, self.layers, self.heads, self.context) < 1:
            raise ValueError("every size of a model is at least 1")
        if self.width % (2 * self.heads):
            raise ValueError(f"{self.heads} heads of even size do not make {self.width}")


@dataclass
class Cache:
    """Keys and values of the sequences of a batch, up to `length` positions.

    `layers` holds a pair of tensors a layer, each (batch, heads, room, head size). `bias` (batch,
    heads, 1, room) is -inf where a sequence has padding; None where none has.
    """

    layers: list[tuple[Tensor, Tensor]]
    length: int
    bias: Tensor | None = None

    @property
    def room(self) -> int:
        return self.layers[0][0].shape[2]

    def take(self, rows: Tensor, room: int) -> Cache:
        """The cache of the sequences `rows` (n,), each as often as it is named, with `room`."""
        length = self.length

        def taken(kept: Tensor) -> Tensor:
            new = kept.new_empty((len(rows), kept.shape[1], room, kept.shape[3]))
            new[:, :, :length] = kept[:, :, :length].index_select(0, rows)
            return new

        bias = None
        if self.bias is not None:
            bias = F.pad(self.bias[rows, ..., :length], (0, room - length))
        return Cache([(taken(keys), taken(values)) for keys, values in self.layers], length, bias)


class Block(nn.Module):
    """Attention and a feed-forward part, each added to what comes in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.mixed = nn.Linear(width, width, bias=False)
        self.before_wide = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def split(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys (both turned by their position) and values: (..., heads, head size)."""
        qkv = self.qkv(self.before_attention(x))
        qkv = qkv.view(*x.shape[:-1], 3, self.heads, x.shape[-1] // self.heads)
        left, right = qkv[..., :2, :, :].chunk(2, -1)
        turned = torch.cat([left * cos - right * sin, left * sin + right * cos], -1)
        return turned[..., 0, :, :], turned[..., 1, :, :], qkv[..., 2, :, :]

    def join(self, x: Tensor, attended: Tensor) -> Tensor:
        """What comes out, given what attention gave: (..., width)."""
        x = x + self.mixed(attended)
        return x + self.narrow(F.gelu(self.wide(self.before_wide(x))))


class Model(nn.Module):
    """Logits of the next word. Its weights are drawn from `generator` (default: torch's own)."""

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.words, shape.width)
        self.blocks = nn.ModuleList(Block(shape.width, shape.heads) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.words, bias=False)
        size = shape.width // shape.heads
        self.scale = size**-0.5
        rates = _ROPE_BASE ** -(torch.arange(0, size, 2) / size)
        angles = torch.arange(shape.context)[:, None] * rates
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self._draw(generator)

    def _draw(self, generator: torch.Generator | None) -> None:
        for name, weight in self.named_parameters():
            if weight.dim() < 2:
                if name.endswith(".bias"):
                    nn.init.zeros_(weight)
                continue
            # Small embeddings drown in what the blocks add, and copying a word is learned late.
            spread = 0.5 if name == "embedding.weight" else 1 / math.sqrt(weight.shape[1])
            last = name.endswith(("mixed.weight", "narrow.weight"))  # what a block adds
            nn.init.normal_(weight, std=spread / 2 if last else spread, generator=generator)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (batch, length, words) for `tokens` (batch, length), padded on the right only."""
        x = self.embedding(tokens)
        cos, sin = self._turns(0, tokens.shape[1])
        for block in self.blocks:
            q, k, v = (part.transpose(1, 2) for part in block.split(x, cos, sin))
            attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = block.join(x, attended.transpose(1, 2).reshape(x.shape))
        return self.head(self.norm(x))

    def read(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Cache]:
        """Logits (batch, words) after prompts, and the cache to go on with.

        `tokens` (batch, length) are padded on the left to their `lengths` (batch,).
        """
        length = tokens.shape[1]
        places = torch.arange(length, device=tokens.device)
        padding = places < (length - lengths)[:, None]
        seen = (places <= places[:, None]) & ~padding[:, None, None]
        seen = seen | (places == places[:, None])  # padding looks at itself: no row is empty
        x, cache = self.embedding(tokens), Cache([], length)
        cos, sin = self._turns(0, length)
        for block in self.blocks:
            q, k, v = (part.transpose(1, 2) for part in block.split(x, cos, sin))
            attended = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
            x = block.join(x, attended.transpose(1, 2).reshape(x.shape))
            cache.layers.append((k, v))
        if bool(padding.any()):
            bias = torch.zeros_like(padding, dtype=x.dtype).masked_fill(padding, -math.inf)
            cache.bias = bias[:, None, None].expand(-1, self.shape.heads, -1, -1)
        return self.head(self.norm(x[:, -1])), cache

    def step(self, tokens: Tensor, cache: Cache) -> Tensor:
        """Logits (batch, words) after one more word a sequence (batch,), which the cache takes."""
        at, end = cache.length, cache.length + 1
        x = self.embedding(tokens)
        cos, sin = self.cos[at], self.sin[at]
        bias = None if cache.bias is None else cache.bias.flatten(0, 1)[..., :end]
        for block, (keys, values) in zip(self.blocks, cache.layers, strict=True):
            q, k, v = block.split(x, cos, sin)
            keys[:, :, at], values[:, :, at] = k, v
            q = (q * self.scale).view(-1, 1, q.shape[-1])
            past = keys.flatten(0, 1)[:, :end].transpose(1, 2)
            scores = torch.bmm(q, past) if bias is None else torch.baddbmm(bias, q, past)
            attended = torch.bmm(scores.softmax(-1), values.flatten(0, 1)[:, :end])
            x = block.join(x, attended.view(x.shape))
        cache.length = end
        return self.head(self.norm(x))

    def _turns(self, start: int, end: int) -> tuple[Tensor, Tensor]:
        """Cosines and sines (length, 1, 1, head size / 2) for positions start to end."""
        return self.cos[start:end, None, None], self.sin[start:end, None, None]
