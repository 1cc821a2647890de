"""Hypothesis strategies for skills, usage records and changes; shared by the library's tests."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from hypothesis import strategies as st

from auto_research.agent_research.library import Change, Create, Fork, Merge, Retire, Revise
from auto_research.agent_research.skill import (
    Provenance,
    Skill,
    SkillStatus,
    Usage,
    function_skill,
    text_skill,
)

TEXT = st.text(max_size=30)
COUNTS = st.integers(0, 10**6)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
PROVENANCES = st.builds(Provenance, TEXT, TEXT, TEXT, TEXT, COUNTS)
IDENTITIES = st.from_regex(r"[0-9a-f]{16}", fullmatch=True)
PRINTABLE = TEXT.filter(str.isprintable)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{2,8}_", fullmatch=True)
DOCSTRINGS = st.text(max_size=60)


@st.composite
def function_skills(draw: st.DrawFn) -> Skill:
    name, literal = draw(NAMES), draw(st.text(max_size=10) | st.integers())
    source = (
        f"def {name}(a, *, b={literal!r}):\n    {draw(DOCSTRINGS)!r}\n"
        f"    return helper(a, b)\n\n\ndef helper(x, y):\n    return x  # {draw(PRINTABLE)}\n"
    )
    interface = draw(st.dictionaries(TEXT, JSON, max_size=2))
    return function_skill(source, interface=interface, provenance=draw(PROVENANCES))


@st.composite
def skills(draw: st.DrawFn) -> Skill:
    """Any skill, with any record, as a library may hold it."""
    made = draw(
        function_skills() | st.builds(text_skill, TEXT, name=PRINTABLE, provenance=PROVENANCES)
    )
    return replace(
        made,
        docstring=draw(st.just(made.docstring) | DOCSTRINGS),
        status=draw(st.sampled_from(get_args(SkillStatus))),
        version=draw(st.integers(1, 99)),
        lineage=draw(IDENTITIES),
        parents=tuple(draw(st.lists(IDENTITIES, max_size=3))),
        usage=draw(USAGES),
    )


# Few contents, so that changes meet the same skill again, revise it, retire it, make twins.
FEW = tuple(
    function_skill(f"def f{n}(x):\n    return go(x, {n})\n", interface={"n": [n]}) for n in range(6)
)
FEW_SKILLS = st.sampled_from(FEW) | st.builds(
    replace, st.sampled_from(FEW), status=st.just("candidate")
)
FEW_IDS = st.sampled_from([skill.id for skill in FEW])
CAUSES = st.lists(TEXT, max_size=2).map(tuple)
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(Create, FEW_SKILLS, CAUSES),
    st.builds(Create, FEW_SKILLS, CAUSES),
    st.builds(Revise, FEW_IDS, FEW_SKILLS, CAUSES),
    st.builds(Fork, FEW_IDS, FEW_SKILLS, CAUSES),
    st.builds(Merge, st.lists(FEW_IDS, max_size=3).map(tuple), FEW_SKILLS, CAUSES),
    st.builds(Retire, FEW_IDS, TEXT, CAUSES),
)
