"""The language that the agent `micro` writes, and skills in it, as words and as Python.

    goto sink                          an action: a verb and an object
    DEF s0 pa pb : goto pa pick pb END     a skill, for this episode and later ones
    CALL s0 r1 o2                      its body, action by action, until one fails
    DONE                               the end

After each of them but the last the world answers `ok` or `err`, as it does after a word that
begins none of them. As Python the skill is ``def s0(pa, pb)`` with a call an action.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from auto_research.agent_research.agents.micro.vocabulary import (
    COLON,
    DEF,
    END,
    PARAMETERS,
    SKILLS,
    Vocabulary,
)
from auto_research.agent_research.normal_form import parse

MAX_WORDS = 36  # of a definition, from DEF to END


@dataclass(frozen=True)
class Definition:
    """A skill in the language: `body` has a pair (verb, object or parameter) an action."""

    name: str
    parameters: tuple[str, ...]
    body: tuple[tuple[str, str], ...]

    def words(self) -> list[str]:
        """As it stands in a prompt, from DEF to END."""
        return [DEF, self.name, *self.parameters, COLON, *sum(self.body, ()), END]

    def source(self) -> str:
        """As Python."""
        lines = [f"    {verb}({thing})\n" for verb, thing in self.body]
        return f"def {self.name}({', '.join(self.parameters)}):\n{''.join(lines)}"

    def actions(self, arguments: Sequence[str]) -> list[tuple[str, str]]:
        """The actions of a call with one of `arguments` a parameter."""
        given = dict(zip(self.parameters, arguments, strict=True))
        return [(verb, given.get(thing, thing)) for verb, thing in self.body]


def from_words(words: Sequence[str], vocabulary: Vocabulary) -> Definition:
    """The definition that `words` are, from DEF to END. Raises ValueError with the reason."""
    if len(words) > MAX_WORDS:
        raise ValueError(f"longer than {MAX_WORDS} words")
    if len(words) < 3 or words[0] != DEF or words[-1] != END or COLON not in words:
        raise ValueError("not of the form DEF name parameters : body END")
    colon = words.index(COLON)
    body = words[colon + 1 : -1]
    if len(body) % 2:
        raise ValueError("a verb without an object")
    pairs = tuple(zip(body[::2], body[1::2], strict=True))
    return _checked(Definition(words[1], tuple(words[2:colon]), pairs), vocabulary)


def from_source(source: str, vocabulary: Vocabulary) -> Definition:
    """The definition that a skill's Python is. Raises ValueError with the reason."""
    match parse(source).body:
        case [ast.FunctionDef(decorator_list=[], returns=None) as function]:
            pass
        case _:
            raise ValueError("not one plain function")
    match function.args:
        case (
            ast.arguments(
                posonlyargs=[], vararg=None, kwonlyargs=[], kwarg=None, defaults=[]
            ) as given
        ) if not any(parameter.annotation for parameter in given.args):
            parameters = tuple(parameter.arg for parameter in given.args)
        case _:
            raise ValueError("parameters that are more than a name")
    body = tuple(_action(statement) for statement in function.body)
    definition = _checked(Definition(function.name, parameters, body), vocabulary)
    if len(definition.words()) > MAX_WORDS:
        raise ValueError(f"longer than {MAX_WORDS} words")
    return definition


def _action(statement: ast.stmt) -> tuple[str, str]:
    match statement:
        case ast.Expr(ast.Call(ast.Name(verb), [ast.Name(thing)], [])):
            return verb, thing
    raise ValueError(f"{ast.unparse(statement)!r:.60} is no action")


def _checked(definition: Definition, vocabulary: Vocabulary) -> Definition:
    """Raises ValueError for what the language does not allow."""
    parameters = definition.parameters
    if definition.name not in SKILLS:
        raise ValueError(f"{definition.name!r} is no name of a skill")
    if not parameters or len(set(parameters)) < len(parameters):
        raise ValueError("no parameters, or one of them twice")
    if not set(parameters) <= set(PARAMETERS):
        raise ValueError(f"parameters other than {', '.join(PARAMETERS)}")
    if not definition.body:
        raise ValueError("no action")
    for verb, thing in definition.body:
        if verb not in vocabulary.verbs:
            raise ValueError(f"{verb!r} is no verb")
        if thing not in parameters and thing not in vocabulary.objects:
            raise ValueError(f"{thing!r} is neither an object nor a parameter")
    return definition
