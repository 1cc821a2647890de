"""The index of a changing state finds what a new one would find, in the same order."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st
from search_examples import problem_of

from auto_research.agent_research.agents.search.facts import Facts, Index
from auto_research.pddl import Atom

PROBLEM = problem_of("blocks")
TERMS = (*sorted(PROBLEM.objects), "?x", "?y")
ARITIES = {name: n for name, n in PROBLEM.domain.predicates.items() if n <= 2}
PATTERNS = [(name, *args) for name, n in ARITIES.items() for args in product(TERMS, repeat=n)]
ATOMS = [
    p
    for p in PATTERNS
    if p[0] in PROBLEM.domain.fluents and not any(x.startswith("?") for x in p[1:])
]


@given(st.lists(st.frozensets(st.sampled_from(ATOMS)), min_size=1, max_size=5))
def test_candidates_are_those_of_the_state_now_whatever_came_before(
    states: list[frozenset[Atom]],
) -> None:
    facts = Facts(PROBLEM)
    for state in states:
        facts.state = state
        fresh = Index(state)
        for pattern in PATTERNS:
            if pattern[0] in PROBLEM.domain.fluents:
                assert list(facts.candidates(pattern)) == list(fresh.candidates(pattern))
