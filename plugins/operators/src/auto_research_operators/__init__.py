"""Operators of other papers for auto-research: one module a paper, in `papers`."""
