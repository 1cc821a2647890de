"""What a direction is read as, in both languages; that any text is read, and always the same."""

from __future__ import annotations

import pytest
from evolve_cases import installed
from hypothesis import given
from hypothesis import strategies as st

from auto_research.agent_research.operators import SLOTS
from auto_research.errors import UserError
from auto_research.evolution.direction import Reading, read_direction, space_of

PAPERS = {
    "retrieval": {
        "sage.learned",
        "sage.query-embedding",
        "sage.query-ngram",
        "sage.scenario",
        "sage.skill-embedding",
    },
    "update": {"sage.evolve", "sage.save"},
    "reward": {"sage.skill-integrated", "sage.chain"},
    "rollout": {"sage.sequential"},
}
SAGE = {
    "retrieval": "sage.learned",
    "update": "sage.evolve",
    "reward": "sage.skill-integrated",
    "rollout": "sage.sequential",
}


def read(text: str) -> Reading:
    return read_direction(text, installed())


def searched(text: str) -> dict[str, set[str]]:
    return {slot: set(uses) for slot, uses in read(text).searched.items()}


def fixed(text: str) -> dict[str, str]:
    return {slot: allele.use for slot, allele in read(text).fixed.items()}


@pytest.mark.parametrize(
    "text",
    [
        "组合 sage 与已安装论文算子",
        "combine sage with the installed paper operators",
        "Combine SAGE and all papers' operators!",
        "成功率高，成本低",
        "raise success and lower cost",
        "success up and cost down",
        "",
    ],
)
def test_sage_with_the_papers_opens_every_slot_to_the_papers_alone(text: str) -> None:
    assert searched(text) == PAPERS
    assert fixed(text) == {}
    assert read(text).unknown == ()


@pytest.mark.parametrize(
    "text",
    [
        "keep sage's reward, try other updates, lower cost",
        "try other updates but keep the reward of sage",
        "保留 sage 的奖励，尝试其他更新，降低成本",
        "sage 的奖励不变；换别的更新",
        "奖励固定为 sage，搜索其他更新",
    ],
)
def test_a_kept_slot_is_fixed_and_what_is_not_named_stays_as_in_sage(text: str) -> None:
    assert searched(text) == {"update": PAPERS["update"]}
    assert fixed(text) == {slot: use for slot, use in SAGE.items() if slot != "update"}
    assert read(text).unknown == ()


def test_what_is_kept_keeps_the_settings_of_its_owner() -> None:
    kept = read("keep sage-paper's rollout, try other updates").fixed["rollout"]
    assert kept.to_dict() == {
        "use": "sage.sequential",
        "chain_length": 2,
        "by": "scenario",
        "start": "empty",
        "siblings": 8,
        "groups_per_batch": 4,
    }


@pytest.mark.parametrize(
    "text",
    [
        "paper operators without sage.save",
        "论文算子，不用 sage.save",
        "除了 sage.save 以外的论文算子",
    ],
)
def test_what_is_excluded_is_left_out(text: str) -> None:
    assert searched(text) == {**PAPERS, "update": {"sage.evolve"}}


@pytest.mark.parametrize(
    "text",
    [
        "never use sage.save",
        "avoid using sage.save",
        "without using sage.save",
        "no use of sage.save",
        "do not use sage.save",
        "don't use sage.save",
        "Don’t try sage.save!",
        "sage.save should not be used",
        "不要使用 sage.save",
        "不要用 sage.save",
        "别使用 sage.save",
        "不想用 sage.save",
        "sage.save 不要用",
        "do not keep sage.save",
        "try everything, do not use sage.save; without the controls",
    ],
)
def test_what_is_not_to_be_used_is_left_out(text: str) -> None:
    found = read(text)
    assert found.unknown == ()
    assert (set(found.searched["update"]) - {"none"}, found.fixed) == ({"sage.evolve"}, {})


def test_controls_that_are_not_to_be_tried_are_left_out() -> None:
    assert searched("do not try controls") == PAPERS


@pytest.mark.parametrize(
    "text",
    [
        "do not change the reward, try other updates",
        "don't change the reward, try other updates",
        "don't try to change the reward, try other updates",
        "no changes to the reward, try other updates",
        "rather than vary the reward, try other updates",
        "do not improve the reward, try other updates",
        "不要改变奖励，尝试其他更新",
        "奖励不要改变，尝试其他更新",
        "别替换奖励，尝试其他更新",
    ],
)
def test_what_is_not_to_be_changed_is_kept(text: str) -> None:
    assert searched(text) == {"update": PAPERS["update"]}
    assert fixed(text)["reward"] == "sage.skill-integrated"
    assert read(text).unknown == ()


@pytest.mark.parametrize("text", ["do not fix the reward", "奖励不要固定", "不要固定奖励"])
def test_a_slot_that_is_not_to_be_fixed_is_searched(text: str) -> None:
    assert searched(text) == {"reward": PAPERS["reward"]}
    assert read(text).unknown == ()


@pytest.mark.parametrize("text", ["do not leave out sage.save", "不要排除 sage.save"])
def test_what_is_not_to_be_left_out_is_used(text: str) -> None:
    assert searched(text) == {"update": {"sage.save"}}


@pytest.mark.parametrize(
    "text",
    [
        "不要降低成功率",
        "不要让成功率降低",
        "成本不要提高",
        "do not raise cost",
        "don't increase cost",
        "no cost increase",
        "never lower success, lower cost",
        "lower cost without lowering success",
        "raise success without raising cost",
    ],
)
def test_an_objective_that_is_not_to_become_worse_is_what_a_search_does(text: str) -> None:
    assert searched(text) == PAPERS
    assert read(text).unknown == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("do not", ("do not",)),
        ("ignore cost", ("ignore",)),
        ("try sage and sage.save without", ("without",)),
        ("all operators except sgae", ("sgae (did you mean 'sage'?)", "except")),
        ("without lowering sage's success", ("without",)),
        ("🎉", ("🎉",)),
        ("combine sage with 🎉 operators", ("🎉",)),
        ("+ +", ("+ +",)),
    ],
)
def test_a_denial_of_nothing_and_mere_signs_are_told(text: str, told: tuple[str, ...]) -> None:
    assert read(text).unknown == told


def test_an_exclusion_of_one_slot_leaves_the_others() -> None:
    found = searched("all operators except sage's update")
    assert found["update"] == {"none", "control.trace", "sage.save"}
    assert found["retrieval"] >= PAPERS["retrieval"]


def test_a_method_is_left_out_with_its_whole_family() -> None:
    found = searched("all operators without sage")
    assert found["retrieval"] == {"none", "random", "recent", "control.schemas"}
    assert found["rollout"] == {"none"}


def test_without_a_slot_means_its_none() -> None:
    assert fixed("sage without retrieval")["retrieval"] == "none"


def test_two_methods_meet_in_every_slot() -> None:
    assert searched("sage 和 raw-trace") == {
        "retrieval": {"sage.learned", "recent"},
        "update": {"sage.evolve", "control.trace"},
        "reward": {"sage.skill-integrated", "outcome"},
        "rollout": {"sage.sequential", "none"},
    }


def test_a_slot_right_behind_a_method_is_that_methods() -> None:
    found = searched("sage-paper 的检索与 sage 的更新")
    assert found == {"retrieval": {"sage.scenario"}, "update": {"sage.evolve"}}


def test_controls_come_in_by_name_or_by_their_word_only() -> None:
    assert searched("sage and the controls")["reward"] == {"sage.skill-integrated", "outcome"}


def test_words_that_mean_nothing_are_told_with_the_name_that_may_be_meant() -> None:
    assert read("combine sgae with 香蕉 operators").unknown == (
        "sgae (did you mean 'sage'?)",
        "香蕉",
    )
    assert list(read("banana").lines())[-1] == "not understood: 'banana'"


def test_the_reading_in_words() -> None:
    assert list(read("keep sage, try sage.save").lines()) == [
        "searching: update in {sage.save}, retrieval fixed to sage.learned, reward fixed to "
        "sage.skill-integrated, rollout fixed to sage.sequential; "
        "objectives: joint success up, total cost down"
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("higher cost", "cost up"),
        ("提高成本", "cost up"),
        ("降低成功率", "success down"),
        ("do not raise success", "success down"),
        ("不要降低成本", "cost up"),
        ("keep sage, without sage", "kept and to be left out"),
        ("keep sage's reward without sage.skill-integrated", "kept and to be left out"),
        ("keep sage.save; keep sage's update", "update is to be fixed to sage.save and to"),
        ("sage.save without sage.save", "leaves no operator for update"),
        ("keep sage's nothing; sage.evolve's reward", "'sage.evolve' has no operator for reward"),
    ],
)
def test_a_contradiction_or_an_empty_slot_is_one_clear_line(text: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as refused:
        read(text)
    assert "\n" not in str(refused.value)


def test_a_direction_that_fixes_everything_leaves_nothing_to_search() -> None:
    with pytest.raises(UserError, match="nothing to search"):
        space_of(read("keep sage"), installed())


WORDS = [
    "sage",
    "sage.save",
    "raw-trace",
    "none",
    "reward",
    "更新",
    "检索",
    "keep",
    "保留",
    "without",
    "not",
    "don't",
    "不要",
    "change",
    "除了",
    "以外",
    "try",
    "other",
    "论文",
    "controls",
    "lower",
    "cost",
    "成功率",
    "提高",
    "'s",
    ",",
    "；",
    "的",
    "xyz",
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS)).map(" ".join)))
def test_any_text_is_read_the_same_twice_or_refused_in_one_line(text: str) -> None:
    def outcome() -> object:
        try:
            return read(text)
        except UserError as error:
            return str(error)

    found = outcome()
    assert found == outcome()
    if isinstance(found, Reading):
        assert {*found.searched, *found.fixed} == set(SLOTS)
        assert all(found.searched.values())
        assert all("\n" not in line for line in found.lines())
    else:
        assert "\n" not in str(found)
