"""A program as readable Python, and back: the source of a skill is the whole truth about it."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Sequence

from auto_research.agent_research.agents.search.rules import OrderHint, Program, Rule
from auto_research.pddl import Atom

_SEEN = re.compile(r"shown (\d+)")
RESERVED = frozenset(
    [
        "rules",
        "match",
        "need",
        "act",
        "undo",
        "achieve",
        "reach",
        "ordered",
        "missing",
        "enter",
        "leave",
        "fail",
        "careful",
        "usual",
        "goals",
        "len",
        "range",
        "list",
        "tuple",
        "dict",
        "set",
        "print",
    ]
)


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
    variables = {v: _identifier(v[1:]) for v in _all_variables(rule)}

    def argument(x: str, free: bool) -> str:
        if not x.startswith("?"):
            return repr(x)
        return repr("?" + variables[x]) if free else variables[x]

    def atom(a: Atom, free: frozenset[str] = frozenset()) -> str:
        return _tuple_text([repr(a[0]), *(argument(x, x in free) for x in a[1:])])

    head = [variables[x] for x in rule.head[1:] if x.startswith("?")]
    wanted = rule.variables()
    unbound = frozenset(variables) - frozenset(rule.head[1:])
    conditions = [atom(c, unbound) for c in rule.static]
    for word, atoms in (("via", rule.via), ("given", rule.given)):
        if atoms:
            conditions.append(f"{word}={_tuple_text(atom(c, unbound) for c in atoms)}")
    names = _tuple_text(repr(variables[v]) for v in wanted)
    target = _tuple_text(variables[v] for v in wanted) if wanted else "_"
    goal = " ".join(variables.get(x, x) for x in rule.head)
    action = ", ".join([repr(rule.action[0]), *(argument(x, False) for x in rule.action[1:])])
    lines = [
        f"def {name}({', '.join(head)}):",
        f'    """({goal}) by {rule.action[0]}; shown {rule.seen}."""',
        f"    for {target} in match({', '.join([names, *conditions])}):",
        f"        if need({', '.join(atom(n) for n in rule.needs)}) and act({action}):",
        "            return True",
        "        undo()",
        "    return False",
    ]
    return _wrapped(lines)


def _wrapped(lines: list[str]) -> list[str]:
    """Break the long calls: one condition a line, and the action on a line of its own."""
    out: list[str] = []
    for line in lines:
        if len(line) <= 96:
            out.append(line)
        elif "match(" in line:
            head, _, rest = line.partition("match(")
            arguments = re.split(r"(?<=\)), (?=\(|via=|given=)", rest.removesuffix("):"))
            out += [f"{head}match(", *(f"        {a}," for a in arguments), "    ):"]
        else:
            need, _, act = line.partition(" and act(")
            out += [
                need.replace("if need(", "if (need(", 1),
                f"                and act({act[:-1]}):",
            ]
    return out


def _all_variables(rule: Rule) -> list[str]:
    atoms = (rule.head, rule.action, *rule.needs, *rule.static, *rule.via, *rule.given)
    return list(dict.fromkeys(x for a in atoms for x in a[1:] if x.startswith("?")))


def _tuple_text(items: Iterable[str]) -> str:
    parts = list(items)
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _identifier(text: str) -> str:
    name = re.sub(r"\W", "_", text)
    if not name or name[0].isdigit() or keyword.iskeyword(name) or name in RESERVED:
        name = f"{name}_" if name and not name[0].isdigit() else f"x{name}"
    return name


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
    loop = function.body[1]
    assert isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
    test = loop.body[0]
    assert isinstance(test, ast.If) and isinstance(test.test, ast.BoolOp)
    need, act = test.test.values
    assert isinstance(need, ast.Call) and isinstance(act, ast.Call)
    seen = _SEEN.search(ast.get_docstring(function) or "")
    doc = ast.get_docstring(function) or ""
    words = doc[doc.index("(") + 1 : doc.index(")")].split()
    params = [a.arg for a in function.args.args]
    arguments = iter(params)
    free = set(params)
    lifted = [
        "?" + next(arguments) if len(words) - 1 == len(params) or _identifier(w) in free else w
        for w in words[1:]
    ]
    return Rule(
        head=(head, *lifted),
        action=_read_atom(act.args),
        needs=_read_atoms(need.args),
        static=_read_atoms(loop.iter.args[1:]),
        via=_read_keyword(loop.iter, "via"),
        given=_read_keyword(loop.iter, "given"),
        seen=int(seen.group(1)) if seen else 1,
    )


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
