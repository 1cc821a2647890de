"""Token by token: what a sample holds is what the engine was asked and what it said, verbatim."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from auto_research_openrlhf.executor.chat import Chat
from auto_research_openrlhf.executor.siblings import Siblings
from executor_bench import SumWorld
from executor_cases import check, label, node, rows_in
from executor_engine import END, START, Bytes, Engine, Params, Say, code, responses
from test_executor_faults import right

TALK = (
    code("print('first')"),
    Say(code("print('cut off')"), end=False),
    code("complete(answer=0)"),
)


def scripted(prompt: str) -> Any:
    """Three turns; the second reply is cut off."""
    return TALK[prompt.count("<|im_start|>assistant") - 1]


def group(
    storage: Path, engine: Engine, samples: int = 4, *, told: str = "", **more: Any
) -> list[dict[str, Any]]:
    options = {k: more.pop(k) for k in ("params", "max_length") if k in more}
    with node(storage, **more) as made:
        return asyncio.run(responses(made, engine, "p", told or label(), samples, **options))


def test_each_prompt_is_what_came_before_and_the_sample_is_all_of_it(tmp_path: Path) -> None:
    engine = Engine(scripted)
    samples = group(tmp_path, engine)
    for sample in samples:
        check(sample)
        ids, ranges = sample["observation_tokens"], sample["action_ranges"]
        assert len(ranges) == 3 and ranges[-1][1] == len(ids)
        for start, _ in ranges:
            assert ids[:start] in engine.prompts
        told = [Bytes().decode(ids[start:end]) for start, end in ranges]
        assert told[0] == TALK[0] + "<|im_end|>" and told[1] == TALK[1].text
    assert {tuple(p) for p in engine.prompts} == {
        tuple(s["observation_tokens"][:start]) for s in samples for start, _ in s["action_ranges"]
    }


def test_a_reply_is_ended_once_whether_or_not_the_model_ended_it(tmp_path: Path) -> None:
    for sample in group(tmp_path, Engine(scripted)):
        text = Bytes().decode(sample["observation_tokens"])
        assert text.count("<|im_end|>") == text.count("<|im_start|>") == 2 + 2 * 2 + 1
        assert "<|im_end|><|im_end|>" not in text
        after = text.partition("print('cut off')\n```")[2]
        assert after.startswith("<|im_end|>\n<|im_start|>user\nYour answer reached its length")


def test_log_probs_stand_where_the_tokens_do(tmp_path: Path) -> None:
    for sample in group(tmp_path, Engine(scripted)):
        ids = sample["observation_tokens"]
        for start, end in sample["action_ranges"]:
            wanted = [-(i % 7) / 8 for i in ids[start:end]]
            assert sample["rollout_log_probs"][start:end] == wanted


def test_without_correction_there_are_no_log_probs(tmp_path: Path) -> None:
    samples = group(tmp_path, Engine(scripted), params=Params(logprobs=None))
    assert [s["rollout_log_probs"] for s in samples] == [None] * 4


def test_replies_have_a_cap_a_turn_and_never_pass_the_context(tmp_path: Path) -> None:
    engine = Engine(lambda prompt: code("print(1)\n" * 200))
    samples = group(tmp_path, engine, tokens_per_turn=90, turns=50, max_length=6000)
    assert max(limit for _, limit in engine.asked) == 90
    assert all(length + limit <= 6000 for length, limit in engine.asked)
    assert all(len(s["observation_tokens"]) <= 6000 and s["truncated"] for s in samples)
    assert all(end - start <= 90 for s in samples for start, end in s["action_ranges"])


def test_the_spec_may_set_a_shorter_context_than_the_trainer(tmp_path: Path) -> None:
    engine = Engine(lambda prompt: code("print(1)\n" * 20))
    samples = group(tmp_path, engine, tokens=5000, turns=50)
    assert all(4000 < len(s["observation_tokens"]) <= 5000 for s in samples)


def test_the_sampling_parameters_that_siblings_share_are_left_as_they_are(tmp_path: Path) -> None:
    shared = Params(max_tokens=None)
    with node(tmp_path) as made:

        async def run() -> None:
            calls = [
                made.sample("p", label(), shared, 20_000, Bytes(), Engine(right)) for _ in range(4)
            ]
            await asyncio.gather(*calls)

        asyncio.run(run())
    assert shared == Params(max_tokens=None)


def test_evaluation_rows_carry_raw_rewards_and_are_rows_of_the_test(tmp_path: Path) -> None:
    samples = group(tmp_path, Engine(right), samples=6, told=label(length=3, evaluation=True))
    assert [s["reward"] for s in samples] == [1.0] * 6
    rows = rows_in(tmp_path)
    assert {row.phase for row in rows} == {"test"}
    assert sorted((row.sibling, row.position) for row in rows) == [
        (i, k) for i in (0, 1) for k in (0, 1, 2)
    ]


def test_no_more_worlds_are_open_at_once_than_the_spec_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SumWorld, "most_open", 0)
    samples = group(tmp_path, Engine(right), samples=32, worlds=3)
    assert all(s["scores"] == 1.0 for s in samples)
    assert SumWorld.most_open <= 3 and SumWorld.open_now == 0


def test_the_calls_of_several_prompts_are_kept_apart(tmp_path: Path) -> None:
    shared = Params()
    with node(tmp_path) as made:

        async def run() -> list[dict[str, Any]]:
            calls = [
                made.sample("p", told, shared, 20_000, Bytes(), Engine(right))
                for told in (label(0), label(1))
                for _ in range(4)
            ]
            return list(await asyncio.gather(*calls))

        samples = asyncio.run(run())
    assert [s["label"] for s in samples] == [label(0)] * 4 + [label(1)] * 4
    assert len({row.task for row in rows_in(tmp_path)}) == 4


def test_a_row_that_comes_again_is_another_episode(tmp_path: Path) -> None:
    with node(tmp_path) as made:
        for _ in range(2):
            asyncio.run(responses(made, Engine(right), "p", label(), 4))
    names = [row.episode for row in rows_in(tmp_path)]
    assert len(names) == len(set(names)) == 8


def test_siblings_share_one_run_and_get_their_places() -> None:
    sizes: list[int] = []

    async def run(size: int) -> Sequence[int]:
        sizes.append(size)
        await asyncio.sleep(0)
        return range(size)

    async def join() -> list[int]:
        siblings: Siblings[int] = Siblings()
        one, other = object(), object()
        calls = [siblings.join(shared, "x", run) for shared in (one, other, one, one, other)]
        return list(await asyncio.gather(*calls))

    assert asyncio.run(join()) == [0, 0, 1, 2, 1]
    assert sorted(sizes) == [2, 3]


def test_a_sibling_that_is_cancelled_leaves_the_group_to_the_others() -> None:
    async def run(size: int) -> Sequence[int]:
        await asyncio.sleep(0.01)
        return range(size)

    async def join() -> list[Any]:
        siblings: Siblings[int] = Siblings()
        shared = object()
        calls = [asyncio.ensure_future(siblings.join(shared, "x", run)) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        calls[0].cancel()
        return list(await asyncio.gather(*calls, return_exceptions=True))

    first, *others = asyncio.run(join())
    assert isinstance(first, asyncio.CancelledError) and others == [1, 2]


def test_a_template_without_an_end_of_turn_gets_none() -> None:
    class Plain(Bytes):
        def apply_chat_template(
            self, messages: Any, tokenize: bool, add_generation_prompt: bool
        ) -> str:
            return "".join(f"[{m['role']}] {m['content']} " for m in messages) + "[assistant] "

    talk = [
        {"role": r, "content": c} for r, c in (("user", "q"), ("assistant", "a"), ("user", "b"))
    ]
    between = Chat(Plain()).after(talk, [97])
    assert Bytes().decode(between) == " [user] b [assistant] "
    assert START not in between and END not in between
