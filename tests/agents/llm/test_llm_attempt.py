"""The loop of the agent llm: what it saves, reuses, drops, gives up; real shells, real HTTP."""

from __future__ import annotations

import pytest
from llm_cases import SHOP, attempt, function
from model_server import BROKEN, DONE, MENDED, ModelServer, Say, Status, code, shopkeeper
from toy_stock import total

from auto_research.agent_research.agents.llm.options import Limits
from auto_research.agent_research.budget import Budget
from auto_research.agent_research.skill import text_skill

GOOD = function('def total_price(kind: str) -> int:\n    """The sum."""\n    return 4\n')


def test_what_broke_is_mended_and_what_ran_is_written() -> None:
    with ModelServer(shopkeeper) as server:
        tried = attempt(server)
        written = {skill.name: skill for skill in tried.write("create")}
    assert tried.attempt.own_check and tried.attempt.steps == 3
    assert list(written) == ["total_price", "all_goods"]
    assert '["price"]' in written["total_price"].source.replace("'", '"')
    assert "def all_goods" in written["total_price"].source  # what it needs comes with it
    assert written["total_price"].provenance.scenario == SHOP.scenario
    assert written["total_price"].provenance.query == SHOP.instruction


def test_what_only_ever_failed_is_not_written() -> None:
    with ModelServer([code(BROKEN.replace("KIND", "apple")), "I give up."]) as server:
        assert attempt(server).write("create") == []


def test_a_function_that_is_never_called_is_not_written() -> None:
    with ModelServer([code("def unused():\n    return 1"), "I give up."]) as server:
        assert attempt(server).write("create") == []


def test_a_definition_overwrites_the_one_before_it_only_once_it_ran() -> None:
    first, second = "def f():\n    return 1\nf()", "def f():\n    return nothing\nf()"
    with ModelServer([code(first), code(second), "I give up."]) as server:
        assert attempt(server).write("create") == []
    with ModelServer([code(second), code(first), "I give up."]) as server:
        (skill,) = attempt(server).write("create")
    assert skill.source == "def f():\n    return 1\n"


def test_skills_are_defined_first_shown_and_used_by_name() -> None:
    with ModelServer(shopkeeper) as server:
        tried = attempt(server, [GOOD])
        shown = server.requests[0]["messages"][1]["content"]
    (use,) = tried.attempt.uses
    assert "def total_price" in shown and tried.attempt.steps == 1
    assert use.called and use.helped and use.sound
    assert tried.meter.units_by_kind == {"load": 1, "step": 10, "api-call": 1}


def test_the_whole_block_is_dropped_if_one_function_of_it_fails() -> None:
    bad = function("def other(x=missing):\n    return x\n")
    with ModelServer(shopkeeper) as server:
        tried = attempt(server, [GOOD, bad])
        shown = server.requests[0]["messages"][1]["content"]
    assert "def " not in shown
    assert [(u.called, u.sound, u.detail) for u in tried.attempt.uses] == [
        (False, False, "the block was dropped")
    ] * 2
    assert tried.attempt.own_check  # it writes its own then


def test_of_two_skills_of_one_name_the_better_is_defined() -> None:
    lesser = function("def total_price(kind):\n    return 5\n")
    with ModelServer([code('print("is", total_price("plum"))'), "Done."]) as server:
        tried = attempt(server, [GOOD, lesser])
    assert "is 4" in tried.told() and "is 5" not in tried.told()
    assert [u.called for u in tried.attempt.uses] == [True, False]


def test_where_skills_share_a_helper_by_name_the_better_ones_helper_is_defined() -> None:
    better, lesser = (
        function(f"def {name}():\n    return helper()\n\n\ndef helper():\n    return {n}\n")
        for n, name in ((1, "one"), (2, "two"))
    )
    with ModelServer([code('print("is", helper())'), "Done."]) as server:
        assert "is 1" in attempt(server, [better, lesser]).told()


def test_a_redefined_name_is_no_use_of_the_skill() -> None:
    with ModelServer([code(MENDED), code(DONE)]) as server:
        (use,) = attempt(server, [GOOD]).attempt.uses
    assert not use.called and not use.helped


def test_a_skill_whose_call_raises_is_not_sound() -> None:
    with ModelServer([code("total_price()"), "I give up."]) as server:
        (use,) = attempt(server, [GOOD]).attempt.uses
    assert use.called and not use.helped and not use.sound


def test_a_redefinition_of_a_skill_is_its_next_version() -> None:
    redefined = MENDED.replace("KIND", "apple")
    with ModelServer([code("total_price()"), code(redefined), "I give up."]) as server:
        tried = attempt(server, [GOOD])
        (skill,) = tried.write("revise", bases=(GOOD,))
        calls = server.calls
    assert skill.name == "total_price" and skill.interface == GOOD.interface
    assert "all_goods" in skill.source and calls == 3  # no model was asked


def test_texts_are_shown_as_notes_and_count_as_used_when_it_succeeds() -> None:
    note = text_skill("Goods come in pages.", name="pages")
    with ModelServer(shopkeeper) as server:
        tried = attempt(server, [note])
        shown = server.requests[0]["messages"][1]["content"]
    assert "Goods come in pages." in shown
    assert [(u.called, u.helped) for u in tried.attempt.uses] == [(True, True)]


@pytest.mark.parametrize("reply", ["The answer is 12.", "```\n \n```", "```json\n{}\n```", None])
def test_a_reply_without_code_ends_the_attempt_and_hands_in_nothing(reply: str | None) -> None:
    with ModelServer([code("print(1)"), Say(reply), code(DONE)]) as server:
        tried = attempt(server)
    assert server.calls == 2 and tried.attempt.steps == 2
    assert not tried.episode.has_submission and not tried.attempt.own_check


def test_an_attempt_that_ran_code_has_handed_in_something() -> None:
    with ModelServer(shopkeeper) as server:
        assert attempt(server).episode.has_submission


def test_the_attempt_ends_after_forty_turns() -> None:
    with ModelServer([code("print('again')")]) as server:
        tried = attempt(server)
        last = server.requests[-1]["messages"][-1]["content"]
    assert server.calls == tried.attempt.steps == 40 == tried.meter.totals["steps"]
    assert tried.episode.has_submission and "1 turns left" in last


def test_only_the_first_block_of_a_reply_is_run_and_the_model_is_told() -> None:
    two = code("print('one')") + "\n" + code("print('two')")
    with ModelServer([two, "Done."]) as server:
        attempt(server)
        told = server.requests[1]["messages"][-1]["content"]
    assert "one" in told and "two" not in told.replace("two code", "")
    assert "Only the first of your 2 code blocks" in told


def test_a_reply_that_was_cut_off_is_run_and_the_model_is_told() -> None:
    with ModelServer([Say("```python\nprint('half')\n", finish="length"), "Done."]) as server:
        attempt(server)
        told = server.requests[1]["messages"][-1]["content"]
    assert "half" in told and "cut off" in told


def test_a_long_output_is_trimmed_with_a_notice() -> None:
    with ModelServer([code("print('a' * 50000 + 'end')"), "Done."]) as server:
        attempt(server)
        told = server.requests[1]["messages"][-1]["content"]
    assert "characters left out" in told and told.rstrip().endswith("end") and len(told) < 7000


def test_code_of_enormous_length_is_not_run() -> None:
    with ModelServer([code("print(1)\n" * 9000), code(DONE), "Done."]) as server:
        tried = attempt(server, [GOOD])
    assert "not run: longer than" in tried.told() and tried.attempt.own_check


def test_old_outputs_are_left_out_where_the_context_is_full() -> None:
    noisy = code("print('x' * 5000)")
    with ModelServer([noisy] * 6 + ["Done."]) as server:
        attempt(server, context_tokens=6000, max_tokens=500)
        last = [m["content"] for m in server.requests[-1]["messages"]]
    assert "left out: the context is full" in last[3] and "xxx" in last[-1]
    assert "goods of the kind apple" in last[1]


def test_a_task_that_does_not_fit_at_all_ends_without_a_call() -> None:
    with ModelServer([code("print(1)")]) as server:
        tried = attempt(server, context_tokens=300, max_tokens=50)
    assert server.calls == 0 and "no longer fits" in tried.told()


def test_where_the_server_finds_the_context_too_small_the_prompt_is_shortened() -> None:
    def small(request: object) -> Say | Status:
        messages = request["messages"]  # type: ignore[index]
        if sum(len(m["content"]) for m in messages) > 14_000:
            return Status(400, "This model's maximum context length is 4000 tokens")
        return Say(code("print('x' * 4000)") if len(messages) < 12 else "Done.")

    with ModelServer(small) as server:
        tried = attempt(server)
    assert not tried.attempt.own_check and tried.attempt.steps >= 5
    assert server.calls > tried.attempt.steps == tried.meter.totals["steps"]
    assert tried.meter.totals["model_calls"] == server.calls


def test_a_spent_budget_ends_the_attempt_with_all_that_was_spent_charged() -> None:
    with ModelServer(shopkeeper) as server:
        tried = attempt(server, budget=Budget(units=25))
    assert "out of budget" in tried.told() and tried.meter.totals["units"] <= 25
    assert server.calls == tried.meter.totals["model_calls"]


@pytest.mark.parametrize("cap", [{"model_calls": 2}, {"tokens": 2800}])
def test_caps_on_calls_and_tokens_hold(cap: dict[str, int]) -> None:
    with ModelServer(shopkeeper) as server:
        tried = attempt(server, budget=Budget(**cap))
    (name,) = cap
    assert 0 < tried.meter.totals[name] <= cap[name] and not tried.attempt.own_check
    assert server.tokens == tried.meter.totals["tokens"]


def test_the_calls_that_were_made_are_the_actions() -> None:
    with ModelServer(shopkeeper) as server:
        actions = attempt(server).attempt.actions
    assert actions == ("apis.shop.show_goods<page>", "apis.supervisor.complete_task<answer>")


def test_limits_are_settings() -> None:
    with ModelServer([code("print('again')")]) as server:
        assert attempt(server, limits=Limits(interactions=3)).attempt.steps == 3


def test_the_toy_shops_have_right_answers() -> None:
    with ModelServer(shopkeeper) as server:
        told = attempt(server).told()
    assert str(total(SHOP.id, "apple")) in told
