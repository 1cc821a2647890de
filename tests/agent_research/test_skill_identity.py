"""What makes two skills the same one: names and spacing do not, behaviour does."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auto_research.agent_research.normal_form import MAX_DEPTH, syntax_tree
from auto_research.agent_research.skill import content_id, function_skill, text_skill

TEMPLATE = """
def {helper}({item}, {depth}=0):
    for {step} in range({depth}):
        emit({item}, {step})
    return [{each} for {each} in {item} if {each} != {depth}]

def {main}({goal}):
    {found} = {helper}({item}={goal}, {depth}=2)
    {rank} = lambda {each}: len({each}) + {depth2}
    try:
        {found}.sort(key={rank})
    except ValueError as {error}:
        emit({error})
    return {found}, {goal}
"""
PLACES = ["helper", "item", "depth", "step", "each", "main", "goal", "found", "rank", "error"]
ORDINARY = {place: place for place in PLACES} | {"depth2": "1"}
NAMES = st.lists(
    st.from_regex(r"[a-z][a-z0-9_]{3,8}", fullmatch=True).map(lambda name: name + "_"),
    min_size=len(PLACES),
    max_size=len(PLACES),
    unique=True,
)


def same(one: str, other: str) -> bool:
    return content_id("function", one) == content_id("function", other)


@settings(max_examples=50, deadline=None)
@given(NAMES)
def test_renaming_functions_and_variables_keeps_the_id(names: list[str]) -> None:
    renamed = dict(zip(PLACES, names, strict=True)) | {"depth2": "1"}
    assert same(TEMPLATE.format(**ORDINARY), TEMPLATE.format(**renamed))


def test_spacing_comments_docstrings_and_annotations_keep_the_id() -> None:
    plain = "def f(a, b=2):\n    x = a + b\n    return go(x)\n"
    written = (
        '"""A module."""\n\n# a comment\n'
        'def  f(a: int, b : "int" = 2) -> str:\n    """Add and go."""\n'
        '    x = (a\n         + b)  # sum\n    "said in passing"\n    return go(x)\n'
    )
    assert same(plain, written)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(x): return go(x)", "def f(x): return stop(x)"),
        ("def f(x): return x + 1", "def f(x): return x + 2"),
        ("def f(x): return x + 1", "def f(x): return x + 1.0"),
        ("def f(x): return x == 1", "def f(x): return x == True"),
        ("def f(x, y): return x - y", "def f(x, y): return y - x"),
        ("def f(x): return go(x=x)", "def f(y): return go(y=y)"),
        ("def f(x): return x.up", "def f(x): return x.down"),
        ("def f(x): return 1\ndef g(y): return x", "def f(z): return 1\ndef g(y): return z"),
        ("def f(x): return v0(x)", "def f(x): return v1(x)"),
        ("def f(x): return None", "def f(x): return 0"),
        ("def f(x): return", "def f(x): pass"),
        (
            "class A:\n  def m(self): go()\ndef f(a): return A().m()",
            "class A:\n  def n(self): go()\ndef f(a): return A().m()",
        ),
        ("def f(x):\n  if x:\n    go()\n  stop()", "def f(x):\n  if x:\n    go()\n    stop()"),
        ("import math\ndef f(x): return math.pi", "import cmath\ndef f(x): return cmath.pi"),
    ],
)
def test_different_behaviour_has_a_different_id(one: str, other: str) -> None:
    assert not same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(x): return go(x=x)", "def f(y): return go(x=y)"),
        (
            "def f(a, b): return h(a)\ndef h(a): return a",
            "def f(a, b): return h(a)\ndef h(c): return c",
        ),
        (
            "def f(a): return h(k=a)\ndef h(k): return k",
            "def f(a): return h(j=a)\ndef h(j): return j",
        ),
        ("import math\ndef f(x): return math.pi", "import math as m\ndef f(x): return m.pi"),
        (
            "def f(a):\n  return [(y := i) for i in a], y",
            "def f(b):\n  return [(z := j) for j in b], z",
        ),
        ("n = 0\ndef f():\n  global n\n  n += 1", "m = 0\ndef g():\n  global m\n  m += 1"),
        (
            "def f(x):\n  match x:\n    case [a, *b]: return a, b\n    case {1: c, **d}: go(c, d)",
            "def f(y):\n  match y:\n    case [p, *q]: return p, q\n    case {1: r, **s}: go(r, s)",
        ),
    ],
)
def test_each_kind_of_binding_may_be_renamed(one: str, other: str) -> None:
    assert same(one, other)


def test_the_public_function_is_part_of_the_identity() -> None:
    source = "def one(x): return two(x)\ndef two(x): return x\n"
    assert function_skill(source).id == content_id("function", source)
    assert function_skill(source, main="one").id != function_skill(source, main="two").id
    assert function_skill(source, main="two").name == "two"


def test_ids_do_not_change_from_release_to_release() -> None:
    source = "def f(x, *, n=3):\n    return [go(i, k=None) for i in x[1:] if not i < n]\n"
    assert content_id("function", source) == "b9d8d4e1204fee3a"


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_a_text_is_the_same_in_any_spacing_and_case(text: str) -> None:
    assert content_id("text", text) == content_id("text", f"\n  {text}\t")
    assert text_skill(text, name="rule").source == text


HOSTILE = {
    "empty": "",
    "no function": "x = 1",
    "broken": "def f(:",
    "null byte": "def f(x): return '\0'",
    "brackets": "def f(x): return " + "(" * 5000 + ")" * 5000,
    "minus signs": "def f(x): return " + "-" * 100_000 + "1",
    "attributes": "def f(x): return x" + ".a" * 50_000,
    "sums": "def f(x): return " + "+".join(["1"] * 50_000),
    "just too deep": "def f(x): return " + "-" * MAX_DEPTH + "1",
    "half a character": "def f(x):\n    '\\ud800'",
    "long number": "def f(x=" + "0x" + "f" * 6000 + "): return x",
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_source_that_cannot_be_a_skill_is_a_value_error(source: str) -> None:
    # In a process of its own, because a parser that overflows its stack takes Python with it.
    script = (
        "import sys\nfrom auto_research.agent_research.skill import function_skill\n"
        "try: function_skill(sys.stdin.read())\n"
        "except ValueError as error: print('refused:', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused: ")


def test_an_interface_comes_as_it_will_come_back_from_a_file() -> None:
    skill = function_skill("def f(): pass", interface={"a": ("b", {"c": (1, 2)})})
    assert skill.interface == {"a": ["b", {"c": [1, 2]}]}
    strange: list[Any] = [{1}, float("nan"), b"x", "\ud800", {2: 1}]
    for value in strange:
        with pytest.raises(ValueError, match=r"not plain data|half a character"):
            function_skill("def f(): pass", interface={"a": value})


def test_sources_parse_in_many_threads_at_once() -> None:
    source = "\n".join(f"def f{i}(a):\n    return [a + {i} for a in range(3)]" for i in range(40))
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(8):
                syntax_tree(source)
        except BaseException as error:
            failed.append(error)

    def switch(phase: str, info: object) -> None:
        time.sleep(0)  # a collection that runs Python code lets another thread in

    before = gc.get_threshold()
    gc.callbacks.append(switch)
    gc.set_threshold(50)
    try:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(switch)
    assert failed == []
