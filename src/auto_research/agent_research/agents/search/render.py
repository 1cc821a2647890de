"""A program as readable Python, and back: the source of a skill is the whole truth about it."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence

from auto_research.agent_research.agents.search.rules import OrderHint, Program, Rule
from auto_research.pddl import Atom

_SEEN = re.compile(r"shown (\d+)")
_WIDTH = 96
_CALLED = frozenset(["match", "need", "act", "undo", "_"])  # names that a rule's function uses


class NotAProgram(ValueError):
    """The source was not written by `render`, so its rules cannot be read back."""


def render(program: Program) -> str:
    """Python source: one function a rule, a table of them, and the function that is called."""
    names = _function_names(program.rules)
    goals = ", ".join(sorted(program.goals))
    main = "achieve_" + "_".join(_identifier(g) for g in sorted(program.goals))
    hints = _net_hints(program)
    parts = [
        f"def {main}(goals):",
        f'    """Make every goal true, of: {goals}. Goals that build on others wait for them."""',
        f"    for goal in ordered(goals, {_tuple_text(map(repr, hints))}):",
        "        reach(*goal)",
        "    return not missing(goals)",
    ]
    for rule, name in zip(program.rules, names, strict=True):
        parts += ["", "", *_rule_lines(rule, name)]
    table: dict[str, list[str]] = {}
    for rule, name in zip(program.rules, names, strict=True):
        table.setdefault(rule.head[0], []).append(name)
    parts += ["", "", "rules = {"]
    parts += [f"    {head!r}: [{', '.join(found)}]," for head, found in table.items()]
    return "\n".join([*parts, "}", ""])


def _net_hints(program: Program) -> list[OrderHint]:
    """Hints with more witnesses for than against, sorted."""
    against = {(q, j, p, i): n for (p, i, q, j), n in program.hints.items()}
    return sorted(h for h, n in program.hints.items() if n > against.get(h, 0))


def _rule_lines(rule: Rule, name: str) -> list[str]:
    variables = _identifiers(_all_variables(rule))
    params = _identifiers(rule.head[1:], variables)
    unbound = frozenset(variables) - frozenset(rule.head[1:])

    def argument(x: str, free: bool) -> str:
        if not x.startswith("?"):
            return repr(x)
        return repr("?" + variables[x]) if free else variables[x]

    def atom(a: Atom, free: frozenset[str] = frozenset()) -> str:
        return _tuple_text([repr(a[0]), *(argument(x, x in free) for x in a[1:])])

    wanted = [variables[v] for v in rule.variables()]
    conditions = [_tuple_text(map(repr, wanted)), *(atom(c, unbound) for c in rule.static)]
    chains = {
        word: [atom(c, unbound) for c in atoms]
        for word, atoms in (("via", rule.via), ("given", rule.given))
        if atoms
    }
    goal = " ".join(variables.get(x, x) for x in rule.head)
    needs = ", ".join(map(atom, rule.needs))
    action = ", ".join([repr(rule.action[0]), *(argument(x, False) for x in rule.action[1:])])
    lines = [
        f"def {name}({', '.join(params.values())}):",
        f'    """({goal}) by {rule.action[0]}; shown {rule.seen}."""',
    ]
    for x, param in params.items():
        if not x.startswith("?"):
            lines += [f"    if {param} != {x!r}:", "        return False"]
    lines += _match_lines(_tuple_text(wanted) if wanted else "_", conditions, chains)
    test = f"        if need({needs}) and act({action}):"
    broken = [f"        if (need({needs})", f"                and act({action})):"]
    lines += [test] if len(test) <= _WIDTH else broken
    return [*lines, "            return True", "        undo()", "    return False"]


def _match_lines(
    target: str, conditions: Sequence[str], chains: Mapping[str, Sequence[str]]
) -> list[str]:
    """The head of the loop, on one line if it fits, else one condition a line."""
    words = [f"{word}={_tuple_text(atoms)}" for word, atoms in chains.items()]
    line = f"    for {target} in match({', '.join([*conditions, *words])}):"
    if len(line) <= _WIDTH:
        return [line]
    lines = [f"    for {target} in match(", *(f"        {c}," for c in conditions)]
    for word, atoms in chains.items():
        line = f"        {word}={_tuple_text(atoms)},"
        broken = [f"        {word}=(", *(f"            {a}," for a in atoms), "        ),"]
        lines += [line] if len(line) <= _WIDTH else broken
    return [*lines, "    ):"]


def _all_variables(rule: Rule) -> list[str]:
    atoms = (rule.head, rule.action, *rule.needs, *rule.static, *rule.via, *rule.given)
    return list(dict.fromkeys(x for a in atoms for x in a[1:] if x.startswith("?")))


def _tuple_text(items: Iterable[str]) -> str:
    parts = list(items)
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text)
    if not name or name[0].isdigit():
        name = f"x{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in _CALLED else name


def _identifiers(words: Iterable[str], taken: Mapping[str, str] | None = None) -> dict[str, str]:
    """A Python name for each word, no two alike; those in `taken` keep theirs."""
    known = dict(taken or {})
    for word in words:
        name = stem = _identifier(word.removeprefix("?"))
        number = 2
        while word not in known and name in known.values():
            name, number = f"{stem}_{number}", number + 1
        known.setdefault(word, name)
    return {word: known[word] for word in words}


def _function_names(rules: Sequence[Rule]) -> list[str]:
    counts: dict[str, int] = {}
    names = []
    for rule in rules:
        stem = f"{_identifier(rule.head[0])}_by_{_identifier(rule.action[0])}"
        counts[stem] = counts.get(stem, 0) + 1
        names.append(f"{stem}_{counts[stem]}")
    return names


def read(source: str) -> Program:
    """The program that `render` wrote as `source`. Raises NotAProgram."""
    try:
        tree = ast.parse(source)
        functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        table = next(n for n in tree.body if isinstance(n, ast.Assign)).value
        if not isinstance(table, ast.Dict):
            raise NotAProgram("no table of rules")
        rules = [
            _read_rule(ast.literal_eval(key), functions[name.id])
            for key, row in zip(table.keys, table.values, strict=True)
            if key is not None and isinstance(row, ast.List)
            for name in row.elts
            if isinstance(name, ast.Name)
        ]
        main = next(iter(functions.values()))
        loop = main.body[1]
        assert isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
        hints = dict.fromkeys(ast.literal_eval(loop.iter.args[1]), 1)
        doc = ast.get_docstring(main) or ""
        goals = frozenset(doc.split("of: ")[1].split(". ")[0].split(", "))
    except (SyntaxError, ValueError, KeyError, IndexError, StopIteration, AssertionError) as error:
        raise NotAProgram(str(error)) from None
    return Program(tuple(rules), hints, goals)


def _read_rule(head: str, function: ast.FunctionDef) -> Rule:
    loop = next(n for n in function.body if isinstance(n, ast.For))
    assert isinstance(loop.iter, ast.Call)
    test = loop.body[0]
    assert isinstance(test, ast.If) and isinstance(test.test, ast.BoolOp)
    need, act = test.test.values
    assert isinstance(need, ast.Call) and isinstance(act, ast.Call)
    seen = _SEEN.search(ast.get_docstring(function) or "")
    fixed = dict(_read_guard(n.test) for n in function.body if isinstance(n, ast.If))
    return Rule(
        head=(head, *(fixed.get(a.arg, "?" + a.arg) for a in function.args.args)),
        action=_read_atom(act.args),
        needs=_read_atoms(need.args),
        static=_read_atoms(loop.iter.args[1:]),
        via=_read_keyword(loop.iter, "via"),
        given=_read_keyword(loop.iter, "given"),
        seen=int(seen.group(1)) if seen else 1,
    )


def _read_guard(test: ast.expr) -> tuple[str, str]:
    """A parameter and the constant that it must be."""
    assert isinstance(test, ast.Compare) and isinstance(test.left, ast.Name)
    return test.left.id, str(ast.literal_eval(test.comparators[0]))


def _read_keyword(call: ast.Call, word: str) -> tuple[Atom, ...]:
    values = [k.value for k in call.keywords if k.arg == word]
    return _read_atoms(values[0].elts) if values and isinstance(values[0], ast.Tuple) else ()


def _read_atoms(parts: Sequence[ast.expr]) -> tuple[Atom, ...]:
    return tuple(_read_atom(part.elts) for part in parts if isinstance(part, ast.Tuple))


def _read_atom(parts: Sequence[ast.expr]) -> Atom:
    return tuple(
        "?" + part.id if isinstance(part, ast.Name) else str(ast.literal_eval(part))
        for part in parts
    )
