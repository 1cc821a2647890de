"""STRIPS with types and negative preconditions, read from PDDL text into plain values."""

from auto_research.pddl.reader import read_domain, read_problem
from auto_research.pddl.sexpr import Expr, PddlError, parse, show, show_definition
from auto_research.pddl.strips import Atom, Domain, Problem, Schema, Step, substitute

__all__ = [
    "Atom",
    "Domain",
    "Expr",
    "PddlError",
    "Problem",
    "Schema",
    "Step",
    "parse",
    "read_domain",
    "read_problem",
    "show",
    "show_definition",
    "substitute",
]
