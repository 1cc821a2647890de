"""STRIPS with types and negative preconditions, read from PDDL text into plain values."""

from auto_research.pddl.reader import PddlError, read_domain, read_problem
from auto_research.pddl.strips import Atom, Domain, Problem, Schema, Step, substitute

__all__ = [
    "Atom",
    "Domain",
    "PddlError",
    "Problem",
    "Schema",
    "Step",
    "read_domain",
    "read_problem",
    "substitute",
]
