"""Methods are data: what a file and its overrides resolve to, and how mistakes are named."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pydantic import Field

from auto_research import strict_yaml
from auto_research.agent_research.method import Method, load_method, read_method, resolve_method
from auto_research.agent_research.operators import LibraryUpdate, Operator, Settings
from auto_research.errors import UserError
from auto_research.hookspecs import hookimpl
from auto_research.plugins import Registry, load_plugins


class Limits(Settings):
    depth: int = 2


class TunedSettings(Settings):
    rate: float = Field(default=0.1, gt=0)
    eager: bool = False
    words: tuple[str, ...] = ()
    limits: Limits = Limits()


class Tuned(LibraryUpdate):
    name = "test.tuned"
    citation = "none"
    summary = "has a setting of every kind"
    settings_type = TunedSettings


class TunedPlugin:
    @hookimpl
    def register_operators(self) -> Sequence[type[Operator]]:
        return [Tuned]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_plugins([TunedPlugin()])


Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a method file with some keys changed (None: left out); gives its path."""

    def write(**changes: object) -> str:
        data = {
            "name": "mine",
            "retrieval": {"use": "recent", "top_k": 2},
            "update": "none",
            "reward": "outcome",
            "rollout": "none",
            **changes,
        }
        path = tmp_path / "mine.yaml"
        path.write_text(json.dumps({k: v for k, v in data.items() if v is not None}))
        return str(path)

    return write


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("react", ("none", "none", "outcome", "none")),
        ("all-schemas", ("control.schemas", "none", "outcome", "none")),
        ("raw-trace", ("recent", "control.trace", "outcome", "none")),
    ],
)
def test_the_built_in_methods_are_made_of_the_control_operators(
    registry: Registry, name: str, operators: tuple[str, ...]
) -> None:
    method = load_method(name, registry)
    assert tuple(filled.use for filled in method.slots().values()) == operators
    built = method.build(registry)
    assert (built.retrieval.name, built.update.name) == operators[:2]
    assert (built.reward.name, built.rollout.name) == operators[2:]


def test_a_method_is_read_from_a_file_with_defaults_filled_in(
    registry: Registry, write: Write
) -> None:
    method = load_method(write(update="test.tuned"), registry)
    assert method.to_dict() == {
        "name": "mine",
        "summary": "",
        "citation": "",
        "retrieval": {"use": "recent", "top_k": 2},
        "update": {
            "use": "test.tuned",
            "rate": 0.1,
            "eager": False,
            "words": [],
            "limits": {"depth": 2},
        },
        "reward": {"use": "outcome", "no_submission": 0.0},
        "rollout": {"use": "none"},
    }


def test_two_builds_share_no_operator(registry: Registry) -> None:
    method = load_method("react", registry)
    assert method.build(registry).update is not method.build(registry).update


def test_overrides_are_applied_in_order(registry: Registry) -> None:
    method = load_method(
        "react",
        registry,
        [
            "update=test.tuned",
            "update.rate=1e-6",
            "update.eager=true",
            "update.words=[on, off]",
            "update.limits.depth=1",
            "update.limits.depth=5",
        ],
    )
    assert method.update.to_dict() == {
        "use": "test.tuned",
        "rate": 1e-6,
        "eager": True,
        "words": ["on", "off"],
        "limits": {"depth": 5},
    }


def test_another_operator_in_a_slot_starts_from_its_own_defaults(
    registry: Registry, write: Write
) -> None:
    file = write()
    assert load_method(file, registry, ["retrieval=random"]).retrieval.to_dict()["top_k"] == 3
    assert load_method(file, registry, ["retrieval=none"]).retrieval.to_dict() == {"use": "none"}


def test_the_dumped_method_resolves_to_itself(registry: Registry, write: Write) -> None:
    method = load_method(write(update={"use": "test.tuned", "rate": 1e-6}), registry)
    data = strict_yaml.parse(strict_yaml.dump(method.to_dict()))
    assert isinstance(data, dict)
    assert resolve_method(read_method(data), registry) == method


def test_the_hash_tells_operators_and_settings_apart_but_not_names_or_spelling(
    registry: Registry, write: Write
) -> None:
    def digest(method: Method) -> str:
        return method.content_hash()

    plain = digest(load_method(write(), registry))
    assert digest(load_method(write(name="other", summary="words"), registry)) == plain
    assert digest(load_method(write(rollout={"use": "none"}), registry)) == plain
    assert digest(load_method(write(retrieval="recent"), registry)) != plain
    assert digest(load_method(write(retrieval={"use": "random", "top_k": 2}), registry)) != plain
    tuned = [{"use": "test.tuned", "rate": rate} for rate in (1, 1.0)]
    assert len({digest(load_method(write(update=update), registry)) for update in tuned}) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"summry": "x"}, "unknown key 'summry' ({file}); did you mean 'summary'?"),
        ({"retreival": "none"}, "unknown key 'retreival' ({file}); did you mean 'retrieval'?"),
        ({"update": None}, "the update slot names no operator ({file}: update)"),
        ({"update": {"top_k": 3}}, "the update slot names no operator ({file}: update)"),
        ({"update": "control.trase"}, "({file}: update); did you mean 'control.trace'?"),
        (
            {"update": "outcome"},
            "operator 'outcome' fills the reward slot, not update ({file}: update)",
        ),
        (
            {"retrieval": {"use": "recent", "topk": 3}},
            "operator 'recent' has no setting 'topk' ({file}: retrieval.topk); "
            "did you mean 'top_k'?",
        ),
        ({"update": {"use": "none", "x": 1}}, "({file}: update.x); it takes no settings"),
        ({"retrieval": {"use": "recent", "top_k": 0}}, "({file}: retrieval.top_k)"),
        ({"retrieval": {"use": "recent", "top_k": "3"}}, "bad value for 'top_k'"),
        ({"update": {"use": "test.tuned", "eager": "yes"}}, "bad value for 'eager'"),
        ({"update": {"use": "test.tuned", "limits": {"deep": 1}}}, "({file}: update.limits.deep)"),
        ({"name": "../x"}, "a method needs a name, not '../x' ({file}: name)"),
        ({"name": None}, "a method needs a name"),
        ({"name": "a" * 101}, f"not '{'a' * 101}' ({{file}}: name)"),
        ({"name": "a" * 3000}, "aaa... ({file}: name)"),
        ({"citation": 5}, "citation must be text, not 5 ({file}: citation)"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_file_and_key(
    registry: Registry, write: Write, changes: dict[str, object], message: str
) -> None:
    file = write(**changes)
    with pytest.raises(UserError) as refused:
        load_method(file, registry)
    assert message.format(file=file) in str(refused.value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("retrival=none", "unknown slot 'retrival' (--set retrival=none); did you mean"),
        ("name=x", "unknown slot 'name' (--set name=x)"),
        ("retrieval.topk=3", "(--set retrieval.topk=3); did you mean 'top_k'?"),
        ("retrieval.top_k=yes", "bad value for 'top_k'"),
        ("retrieval.top_k=", "(--set retrieval.top_k=)"),
        ("retrieval.top_k", "write slot=operator or slot.setting=value"),
        ("retrieval..top_k=3", "write slot=operator or slot.setting=value"),
        ("retrieval.top_k=[", "not valid YAML"),
        ("update=outcome", "fills the reward slot, not update (--set update=outcome)"),
        ("update=", "unknown update operator '' (--set update=)"),
    ],
)
def test_a_mistake_in_an_override_is_named_with_the_override(
    registry: Registry, override: str, message: str
) -> None:
    with pytest.raises(UserError) as refused:
        load_method("raw-trace", registry, [override])
    assert message in str(refused.value)


def test_an_unknown_method_or_file_is_one_clear_line(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown method 'reakt'; did you mean 'react'"):
        load_method("reakt", registry)
    with pytest.raises(UserError, match="cannot read file"):
        load_method(str(tmp_path / "absent.yaml"), registry)
    (tmp_path / "list.yaml").write_text("- a\n")
    with pytest.raises(UserError, match="a method must be a mapping"):
        load_method(str(tmp_path / "list.yaml"), registry)
    (tmp_path / "long.yaml").write_text("name: a\n#" + "x" * 1_000_000)
    with pytest.raises(UserError, match="the file is longer than 1,000,000 bytes") as told:
        load_method(str(tmp_path / "long.yaml"), registry)
    assert str(tmp_path / "long.yaml") in str(told.value)
