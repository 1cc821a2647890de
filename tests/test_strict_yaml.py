"""Strict YAML: what is read is what was meant, and riddles are refused with their place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auto_research import strict_yaml
from auto_research.benchmarks.base import Json
from auto_research.errors import UserError

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
    | st.sampled_from(["1e-6", "010", "on", "true", "~", "12:30", "<<", "1_000", "-", ".5"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1e-6", 1e-6),
        ("+4E2", 400.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("010", 10),
        ("-3", -3),
        ("true", True),
        ("True", "True"),
        ("on", "on"),
        ("no", "no"),
        ("none", "none"),
        ("null", None),
        ("", None),
        ("12:30:00", "12:30:00"),
        ("2026-01-01", "2026-01-01"),
        ("0x1f", "0x1f"),
        ("1e", "1e"),
        ("'5'", "5"),
    ],
)
def test_a_scalar_is_read_as_it_is_meant(written: str, meant: object) -> None:
    read = strict_yaml.parse(written)
    assert read == meant
    assert type(read) is type(meant)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2", "'a' is there twice (f.yaml, line 2, column 1)"),
        ("a: {b: 1, b: 2}", "'b' is there twice"),
        ("a: &x 1\nb: *x", "aliases (*name) are not supported (f.yaml, line 2, column 4)"),
        ("a: !!python/name:os.system ''", "tags (!name) are not supported"),
        ("1: a", "key 1 is not text"),
        ("a: 1e999", "too large a number"),
        ("a: [1,", "f.yaml, line 1"),
        ("a: 1\n---\nb: 2", "another document"),
        ("9" * 5000, "not valid YAML"),
        ("[" * 3000 + "]" * 3000, "more than 50 levels deep"),
    ],
)
def test_what_could_surprise_is_refused_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(UserError) as refused:
        strict_yaml.parse(text, where="f.yaml")
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


@given(PLAIN)
def test_what_is_dumped_is_read_back_equal(data: Json) -> None:
    assert strict_yaml.parse(strict_yaml.dump(data)) == data


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read file: No such file"):
        strict_yaml.read(tmp_path / "absent.yaml")
    with pytest.raises(UserError, match="cannot read file"):
        strict_yaml.read(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9")
    with pytest.raises(UserError, match="not a UTF-8 text file"):
        strict_yaml.read(tmp_path / "latin.yaml")
