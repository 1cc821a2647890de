"""The language of the agent micro: words and Python say the same, and nothing else gets in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from micro_cases import WORDS

from auto_research.agent_research.agents.micro.language import (
    MAX_WORDS,
    Definition,
    from_source,
    from_words,
)
from auto_research.agent_research.agents.micro.vocabulary import PARAMETERS, SKILLS, Vocabulary
from auto_research.agent_research.skill import function_skill
from auto_research.errors import UserError


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    parameters = draw(st.lists(st.sampled_from(PARAMETERS), min_size=1, max_size=4, unique=True))
    thing = st.sampled_from((*parameters, *WORDS.objects))
    longest = (MAX_WORDS - 4 - len(parameters)) // 2
    body = draw(
        st.lists(st.tuples(st.sampled_from(WORDS.verbs), thing), min_size=1, max_size=longest)
    )
    return Definition(draw(st.sampled_from(SKILLS)), tuple(parameters), tuple(body))


@given(definitions())
def test_a_definition_comes_back_from_its_words_and_from_its_python(made: Definition) -> None:
    assert from_words(made.words(), WORDS) == made
    assert from_source(made.source(), WORDS) == made
    skill = function_skill(made.source())
    assert skill.name == made.name and from_source(skill.source, WORDS) == made


@given(st.lists(st.sampled_from(WORDS.words), max_size=MAX_WORDS + 4))
def test_any_words_are_a_definition_with_the_same_words_or_refused(words: list[str]) -> None:
    try:
        made = from_words(["DEF", *words, "END"], WORDS)
    except ValueError as error:
        assert str(error)
    else:
        assert made.words() == ["DEF", *words, "END"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("DEF s0 pa : goto pa", "not of the form"),
        ("DEF s0 pa goto pa END", "not of the form"),
        ("DEF s0 pa : goto END", "without an object"),
        ("DEF o1 pa : goto pa END", "no name of a skill"),
        ("DEF s0 : goto r1 END", "no parameters"),
        ("DEF s0 pa pa : goto pa END", "twice"),
        ("DEF s0 r1 : goto r1 END", "parameters other than"),
        ("DEF s0 pa : END", "no action"),
        ("DEF s0 pa : clean pa END", "'clean' is no verb"),
        ("DEF s0 pa : goto pb END", "'pb' is neither"),
        ("DEF s0 pa : goto clean END", "'clean' is neither"),
        (f"DEF s0 pa : {'goto pa ' * 16}END", "longer than"),
    ],
)
def test_words_that_are_no_skill_are_refused_with_the_reason(words: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        from_words(words.split(), WORDS)


HOSTILE = {
    "two functions": "def s0(pa):\n    goto(pa)\ndef s1(pa):\n    goto(pa)\n",
    "code beside it": "import os\ndef s0(pa):\n    goto(pa)\n",
    "no function": "goto(sink)\n",
    "a decorator": "@cache\ndef s0(pa):\n    goto(pa)\n",
    "a default": "def s0(pa=sink):\n    goto(pa)\n",
    "any number": "def s0(*pa):\n    goto(pa)\n",
    "by keyword": "def s0(*, pa):\n    goto(pa)\n",
    "by position": "def s0(pa, /):\n    goto(pa)\n",
    "an annotation": "def s0(pa: exec('x')):\n    goto(pa)\n",
    "a result": "def s0(pa) -> exec('x'):\n    goto(pa)\n",
    "asynchronous": "async def s0(pa):\n    goto(pa)\n",
    "a loop": "def s0(pa):\n    for x in pa:\n        goto(x)\n",
    "a condition": "def s0(pa):\n    if pa:\n        goto(pa)\n",
    "an attribute": "def s0(pa):\n    os.system(pa)\n",
    "a text": "def s0(pa):\n    goto('sink')\n",
    "two arguments": "def s0(pa, pb):\n    goto(pa, pb)\n",
    "a keyword": "def s0(pa):\n    goto(place=pa)\n",
    "a star": "def s0(pa):\n    goto(*pa)\n",
    "a call in a call": "def s0(pa):\n    goto(pick(pa))\n",
    "an unknown verb": "def s0(pa):\n    exec(pa)\n",
    "an unknown object": "def s0(pa):\n    goto(moon)\n",
    "another skill": "def s0(pa):\n    s1(pa)\n",
    "another name": "def fetch(pa):\n    goto(pa)\n",
    "other parameters": "def s0(place):\n    goto(place)\n",
    "no parameters": "def s0():\n    goto(sink)\n",
    "a word of the language": "def s0(pa):\n    goto(END)\n",
    "nothing": "def s0(pa):\n    pass\n",
    "too long": "def s0(pa):\n" + "    goto(pa)\n" * 16,
    "no Python": "def s0(pa:\n",
    "too deep": "(" * 5000 + ")" * 5000,
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_python_that_the_language_cannot_say_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        from_source(source, WORDS)


def test_a_vocabulary_numbers_its_words_and_comes_back_from_plain_data() -> None:
    words = ["goto", "sink", "GO", "DEF"]
    assert WORDS.decode(WORDS.encode(words)) == words
    assert Vocabulary.from_json(WORDS.to_json()) == WORDS
    with pytest.raises(UserError, match=r"no word 'gotoo'; did you mean 'goto'\?"):
        WORDS.encode(["gotoo"])


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"verbs": ("go", "go"), "objects": ("x",)}, "twice: go"),
        ({"verbs": ("DEF",), "objects": ("x",)}, "twice: DEF"),
        ({"verbs": ("go",), "objects": ("a b",)}, "cannot stand"),
        ({"verbs": ("import",), "objects": ("x",)}, "cannot stand"),
        ({"verbs": ("go",), "objects": ("x",), "others": ("",)}, "not one word"),
    ],
)
def test_words_that_no_skill_could_be_written_with_are_no_vocabulary(
    parts: dict[str, tuple[str, ...]], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        Vocabulary("toys", **parts)
