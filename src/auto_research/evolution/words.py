"""The words that a direction may use, in Chinese and English, and how a text is cut into them.

Names of methods and operators come from what is installed; everything else stands here. A text
is read word by word, the longest known phrase first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "name",  # a method, an operator, or the first part of operators' names
    "slot",
    "group",  # papers, controls, all
    "open",  # "other": every paper operator of the slots named with it
    "keep",
    "exclude",
    "use",
    "objective",
    "up",
    "down",
    "stop",  # says nothing by itself
    "break",  # ends what a keep or exclude word governs
    "unknown",
]

CHANGE = "change"  # a use word that, denied, says keep: "do not change the reward"


@dataclass(frozen=True, slots=True)
class Word:
    """A phrase of the text with what it is: `value` is the slot, name, group or objective.

    Of an exclude word it is the phrase itself, to be told; of a use word `CHANGE` or nothing.
    """

    kind: Kind
    value: str


_PHRASES: Mapping[tuple[Kind, str], str] = {
    ("slot", "retrieval"): """retrieval | retrievals | retriever | retrievers | retrieve
        | selection | skill selection | 检索 | 召回 | 取回 | 技能选择""",
    ("slot", "update"): """update | updates | updating | library update | library updates | edit
        | edits | editing | editor | editors | 更新 | 库更新 | 编辑 | 改写 | 修订""",
    ("slot", "reward"): """reward | rewards | credit | credit assignment | advantage | advantages
        | 奖励 | 回报 | 信用分配 | 优势""",
    ("slot", "rollout"): """rollout | rollouts | sampling | sampler | samplers | curriculum
        | 采样 | 抽样 | 轨迹采样 | 推演 | 课程""",
    ("group", "papers"): """paper | papers | installed | literature | published
        | 论文 | 文献 | 已安装 | 已装 | 安装好""",
    ("group", "controls"): "control | controls | baseline | baselines | 对照 | 基线",
    ("group", "all"): """everything | all operators | every operator | any operator
        | 所有算子 | 全部算子 | 一切算子""",
    ("open", ""): """other | others | another | different | new | alternative | alternatives
        | 其他 | 其它 | 别的 | 不同 | 其余 | 新""",
    ("keep", ""): """keep | keeps | keeping | kept | fix | fixed | fixing | hold | holding
        | retain | retaining | preserve | preserving | freeze | frozen | unchanged
        | 保留 | 固定 | 保持 | 不变 | 不动 | 别动 | 不要动 | 锁定 | 沿用""",
    ("exclude", ""): """without | exclude | excludes | excluding | excluded | except | except for
        | apart from | other than | rather than | instead of | but not | not | no | drop
        | dropping | avoid | avoiding | omit | omitting | never | leave out | leaving out
        | do not | dont | cannot | no more | no longer | neither | nor | skip | skipping | ignore
        | ignoring | remove | removing | stop | refrain from
        | 除 | 除了 | 除去 | 排除 | 不用 | 不要 | 不使用 | 不含 | 不包括 | 不考虑 | 去掉 | 去除
        | 没有 | 避免 | 禁用 | 别用 | 无 | 不 | 别 | 勿 | 请勿 | 切勿 | 不必 | 不能 | 不可 | 不得
        | 不许 | 不准 | 不应 | 不该 | 不再 | 无需 | 禁止 | 停用 | 跳过 | 忽略 | 剔除""",
    ("use", ""): """try | tries | tried | trying | use | uses | used | using | combine | combined
        | combining | mix | mixed | mixing | search | searched | searching | explore | explored
        | exploring | recombine | 组合 | 结合 | 混合 | 重组 | 尝试 | 试试 | 试 | 搜索 | 探索 | 用
        | 使用 | 采用 | 换成 | 以外 | 之外 | 外""",
    ("use", CHANGE): """vary | varied | varying | change | changes | changed | changing | swap
        | swapped | swapping | replace | replaced | replacing | modify | modified | modifying
        | alter | altered | altering | touch | evolve | optimise | optimize | 改变 | 改动 | 改
        | 修改 | 更改 | 变更 | 变动 | 调整 | 替换 | 更换 | 换 | 换掉 | 改进 | 优化 | 进化 | 演化""",
    ("objective", "success"): """success | successes | success rate | joint success | joint
        | joint success rate | solved | 成功 | 成功率 | 联合成功率 | 联合成功""",
    ("objective", "cost"): """cost | costs | total cost | average cost | expense | spending
        | units | 成本 | 总成本 | 费用 | 开销 | 代价 | 花费 | 花销""",
    ("objective", "cost down"): "cheaper | cheap | cheapest | 便宜 | 更便宜 | 省钱 | 廉价",
    ("up", ""): """higher | highest | high | raise | raising | increase | increasing | maximise
        | maximize | maximising | maximizing | up | more | better | improve | improving
        | 提高 | 提升 | 更高 | 增加 | 最大化 | 高 | 上升 | 增大 | 越高越好""",
    ("down", ""): """lower | lowest | low | lowering | reduce | reducing | decrease | decreasing
        | minimise | minimize | minimising | minimizing | down | less | cut | cutting | save
        | saving | 降低 | 减少 | 更低 | 最小化 | 低 | 下降 | 减小 | 节省 | 节约 | 压低
        | 越低越好""",
    ("break", ""): "but | then | while | 但 | 但是 | 然后 | 并且 | 同时 | 而",
    ("stop", ""): """a | an | the | and | or | of | with | to | for | from | in | on | by | as
        | at
        | is | are | be | its | it | their | them | this | that | these | those | all | every
        | each | any | some | both | only | just | please | also | together | method | methods
        | operator | operators | skill | skills | library | libraries | rule | rules | policy
        | policies | slot | slots | approach | way | ways | i | we | you | want | like | let | s
        | do | does | must | should | need | not only | not just | been | ever
        | possible | rest | still | agent | agents | find | good | best | one | ones | into | same
        | 与 | 和 | 及 | 以及 | 跟 | 同 | 的 | 地 | 得 | 把 | 将 | 请 | 在 | 上 | 中 | 里 | 来
        | 想 | 要
        | 让 | 使 | 对 | 给 | 为 | 是 | 以 | 到 | 成 | 方法 | 算子 | 算子们 | 操作符 | 技能
        | 技能库
        | 库 | 策略 | 规则 | 部分 | 槽 | 槽位 | 所有 | 全部 | 各 | 各种 | 各个 | 每个 | 任意
        | 任何 | 都
        | 只 | 仅 | 只用 | 更 | 最 | 好 | 更好 | 最好 | 尽量 | 尽可能 | 可以 | 能 | 再 | 也
        | 还 | 且
        | 并 | 或 | 或者 | 一起 | 进行 | 目标 | 方向 | 一个 | 一些 | 几个 | 我 | 我们 | 智能体
        | 它
        | 不仅 | 不但 | 不只 | 不断 | 特别 | 分别 | 希望 | 需要 | 被 | 应该 | 必须
        | 它们 | 了 | 吧 | 呢 | 下 | 时 | 之间 | 里的 | 中的 | 代理""",
}
_BREAKS = frozenset(",;.!?:，；。！？：\n")
_LATIN = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?")
_PIECE = re.compile(rf"{_LATIN.pattern}|[^\W\d_a-z]+|\S|\n")
_LONGEST = 3  # Latin words in a phrase


def vocabulary(names: Mapping[str, str]) -> dict[str, Word]:
    """Every phrase that is understood; `names` maps what is installed, in small letters."""
    known = {
        phrase: Word(kind, phrase if kind == "exclude" else value)
        for (kind, value), phrases in _PHRASES.items()
        for phrase in (" ".join(words.split()) for words in phrases.split("|"))
    }
    return known | {name: Word("name", value) for name, value in names.items()}


def read_words(text: str, known: Mapping[str, Word]) -> Iterator[Word]:
    """The words of a text in order. Never fails: what is not known comes out as such."""
    plain = unicodedata.normalize("NFKC", text).lower()
    plain = re.sub(r"\b[a-z]+n['’]t\b", " not ", plain)  # don't
    plain = re.sub(r"(?<=[a-z0-9])['’]s?\b", " ", plain)  # sage's
    pieces = _PIECE.findall(plain)
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        if _LATIN.fullmatch(piece):
            word, taken = _latin(pieces, at, known)
            yield from word
            at += taken
            continue
        at += 1
        if piece in _BREAKS:
            yield Word("break", "")
        elif any(letter.isalnum() for letter in piece):
            yield from _unspaced(piece, known)
        elif unicodedata.category(piece[0]) == "So":  # a picture
            yield Word("unknown", piece)
        # any other sign joins what stands beside it, as "and" does
        else:
            yield Word("stop", "")


def _latin(pieces: list[str], at: int, known: Mapping[str, Word]) -> tuple[list[Word], int]:
    """The longest phrase that starts here, else the parts of a hyphenated word, else unknown."""
    for count in range(_LONGEST, 0, -1):
        phrase = " ".join(pieces[at : at + count])
        if phrase in known:
            return [known[phrase]], count
    piece = pieces[at]
    parts = re.split(r"[._-]+", piece)
    if len(parts) > 1 and all(part in known for part in parts):
        return [known[part] for part in parts], 1
    return [Word("unknown", piece)], 1


def _unspaced(piece: str, known: Mapping[str, Word]) -> Iterator[Word]:
    """Words of a script that writes no spaces, the longest that is known at each place."""
    lost, at = "", 0
    while at < len(piece):
        size = next((n for n in range(6, 0, -1) if piece[at : at + n] in known), 0)
        if not size:
            lost, at = lost + piece[at], at + 1
            continue
        if lost:
            yield Word("unknown", lost)
            lost = ""
        yield known[piece[at : at + size]]
        at += size
    if lost:
        yield Word("unknown", lost)
