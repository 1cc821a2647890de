"""Whatever skill code does, the sandbox answers with a value, and the next call starts afresh."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from auto_research.agent_research.sandbox import Limits, Outcome, Sandbox

MESS = "leftover = 1\ndef len(x):\n    return 77\n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Limits(host_calls=500)) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def hasty() -> Iterator[Sandbox]:
    with Sandbox(Limits(seconds=0.3)) as sandbox:
        yield sandbox


@pytest.fixture(autouse=True)
def nothing_is_left_over(sandbox: Sandbox) -> Iterator[None]:
    """After every test here, however it went for the code, the next call sees a clean world."""
    yield
    assert_clean(sandbox)


def assert_clean(sandbox: Sandbox) -> None:
    clean = sandbox.call(["def count(x):\n    return len(x)"], "count([1, 2])", {})
    assert clean == Outcome(value=2)
    gone = sandbox.call([], "leftover", {})
    assert gone.failure == "wrong" and "leftover" in gone.message


def run(sandbox: Sandbox, source: str, expression: str = "1") -> Outcome:
    return sandbox.call([MESS + source], expression, {"host": lambda *_: None})


BOMBS = {
    "doubling a list": "x = [0]\nwhile True:\n    x = x + x",
    "a text": "x = 'a' * 10**9",
    "many small texts": "x = []\nfor i in range(10**9):\n    x.append(str(i) * 1000)",
    "a number": "x = 10 ** (10**8)",
    "a range made a list": "x = list(range(10**12))",
    "a format width": "x = f'{1:1000000000d}'",
    "memory after memory, each error caught": (
        "while True:\n    try:\n        x = [0]\n        while True:\n            x = x + x\n"
        "    except BaseException:\n        pass"
    ),
    "recursion": "def f(n):\n    return f(n + 1)\nf(0)",
    "recursion through two functions": "def f():\n    g()\ndef g():\n    f()\nf()",
    "a million host calls": "for i in range(1000000):\n    host(i)",
}


@pytest.mark.parametrize("source", BOMBS.values(), ids=BOMBS.keys())
def test_a_deterministic_limit_ends_what_grows_without_end(sandbox: Sandbox, source: str) -> None:
    assert run(sandbox, source).failure == "limit"


LOOPS = {
    "plain": "while True:\n    pass",
    "every error caught": (
        "while True:\n    try:\n        while True:\n            pass\n"
        "    except BaseException:\n        pass"
    ),
    "waiting for a clock that stands still": (
        "import time\nwhile time.monotonic() < 10**12:\n    pass"
    ),
    "inside one builtin": "x = sum(range(10**12))",
    "printing": "while True:\n    print('x' * 100000)",
}


@pytest.mark.parametrize("source", LOOPS.values(), ids=LOOPS.keys())
def test_an_endless_loop_is_ended_and_says_that_a_clock_decided(
    hasty: Sandbox, source: str
) -> None:
    assert run(hasty, source).failure == "time"
    assert_clean(hasty)


PRYING = {
    "os.system": "import os\nos.system('true')",
    "a subprocess": "import subprocess",
    "a socket": "import socket",
    "foreign code": "import ctypes",
    "__import__": "__import__('os').system('true')",
    "reading a file": "open('/etc/passwd').read()",
    "reading a path": "from pathlib import Path\nPath('/etc/passwd').read_text()",
    "listing a folder": "import os\nos.listdir('/')",
    "the environment": "import os\nos.environ",
    "the walk through subclasses": "().__class__.__subclasses__()",
    "the walk through bases": "().__class__.__base__.__subclasses__()",
    "the walk through a format": "'{0.__class__}'.format(1)",
    "a host function's globals": "host.__globals__",
    "a host function's owner": "getattr(host, '__self__')",
    "a function's code": "(lambda: 0).__code__",
    "the frames": "import sys\nsys._getframe()",
    "leaving": "import sys\nsys.exit(3)",
    "raising an exit": "raise SystemExit(3)",
    "raising an interrupt": "raise KeyboardInterrupt()",
}


@pytest.mark.parametrize("source", PRYING.values(), ids=PRYING.keys())
def test_there_is_no_way_out(sandbox: Sandbox, source: str) -> None:
    assert run(sandbox, source).failure in ("wrong", "unsupported")


WRITING = {
    "open": "open('{there}/new', 'w').write('x')",
    "a path": "from pathlib import Path\nPath('{there}/new').write_text('x')",
    "a folder": "import os\nos.mkdir('{there}/new')",
    "removing": "import os\nos.remove('{there}/kept')",
    "overwriting": "with open('{there}/kept', 'w') as f:\n    f.write('')",
}


@pytest.mark.parametrize("source", WRITING.values(), ids=WRITING.keys())
def test_no_file_is_touched(sandbox: Sandbox, source: str, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("as it was")
    assert run(sandbox, source.format(there=tmp_path)).failure in ("wrong", "unsupported")
    assert os.listdir(tmp_path) == ["kept"]
    assert (tmp_path / "kept").read_text() == "as it was"


@pytest.mark.parametrize(
    "source",
    [
        "def (",
        "x = 'half \ud800 a character'",
        "\0",
        "x = " + "-" * 5000 + "1",
        "x = " + "[" * 100_000,
        "def f():\n\treturn 1\n        return 2",
        "return_ = nosuch",
        "1 + ''",
        "1 < ''",  # Python's own message says "not supported" here
        "raise ValueError('not supported')",
        "raise NotImplementedError('later')",
        "raise TimeoutError('enough')",
        "raise MemoryError('mine')",
        "assert False",
        "f()\nf = 1",
    ],
    ids=repr,
)
def test_code_that_python_would_refuse_too_is_wrong(sandbox: Sandbox, source: str) -> None:
    assert run(sandbox, source[:200_000]).failure == "wrong"


@pytest.mark.parametrize(
    "source",
    [
        "def g():\n    yield 1",
        "class A(int):\n    pass",
        "x = 1\ndel x",
        "type X = int",
        "from os import *",
        "import heapq",
        "class A:\n    @property\n    def f(self):\n        return 1",
        "super()",
        "x = bytearray(3)",
        "globals()",
        "import os\nos.urandom(4)",
    ],
    ids=repr,
)
def test_what_python_has_and_the_sandbox_has_not_is_told_apart(
    sandbox: Sandbox, source: str
) -> None:
    assert run(sandbox, source).failure == "unsupported"


def test_a_null_byte_in_a_text_is_only_a_character(sandbox: Sandbox) -> None:
    assert run(sandbox, "x = 'a\0b'", "x == 'a' + chr(0) + 'b'") == Outcome(value=True)


def test_a_shadowed_builtin_harms_only_the_code_that_shadows_it(sandbox: Sandbox) -> None:
    source = "def len(x):\n    return 7\ndef isinstance(*x):\n    return True"
    assert run(sandbox, source, "len([])") == Outcome(value=7)
    assert sandbox.call([], "len([])", {}) == Outcome(value=0)


def test_a_redefined_host_function_is_the_codes_own(sandbox: Sandbox) -> None:
    assert run(sandbox, "def host():\n    return 9", "host()") == Outcome(value=9)


def test_megabytes_of_print_are_dropped(
    sandbox: Sandbox, capfd: pytest.CaptureFixture[str]
) -> None:
    source = "import sys\nfor i in range(30):\n    print('x' * 100000, file=sys.stderr)\nprint('x')"
    assert run(sandbox, source, "5") == Outcome(value=5)
    assert capfd.readouterr() == ("", "")


TOO_LARGE = {
    "a text": "x = 'a' * 10**6",
    "a list": "x = [1] * 10**6",
    "a list of one text many times": "x = ['a' * 9000] * 9000",
    "lists that share lists": "x = ['a'] * 100\nfor i in range(5):\n    x = [x] * 100",
    "dicts that share dicts": "x = {'a': 1}\nfor i in range(60):\n    x = {'a': x, 'b': x}",
    "a number": "x = 10 ** 10000",
}


@pytest.mark.parametrize("source", TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_a_huge_value_is_not_taken(sandbox: Sandbox, source: str) -> None:
    outcome = run(sandbox, source, "x")
    assert outcome.failure == "limit" and outcome.value is None


@pytest.mark.parametrize(
    "expression", ["{1, 2}", "b'x'", "1j", "[{1, 2}]", "{1: 2}", "ValueError('x')"]
)
def test_a_value_that_is_not_plain_data_comes_out_as_none(
    sandbox: Sandbox, expression: str
) -> None:
    assert run(sandbox, "", expression) == Outcome(value=None)


def test_a_value_that_holds_itself_or_nests_without_end_comes_back_finite(
    sandbox: Sandbox,
) -> None:
    assert run(sandbox, "x = []\nx.append(x)", "x").failure in ("", "limit")
    assert run(sandbox, "x = []\nfor i in range(9999):\n    x = [x]", "x").failure in ("", "limit")


def test_exactly_as_many_host_calls_are_made_as_the_limit_says(sandbox: Sandbox) -> None:
    calls: list[int] = []
    outcome = sandbox.call(
        ["def f():\n    for i in range(10**6):\n        note(i)"], "f()", {"note": calls.append}
    )
    assert outcome.failure == "limit"
    assert calls == list(range(500))


def test_code_that_swallows_every_refusal_of_a_host_is_still_ended(sandbox: Sandbox) -> None:
    def refuse() -> None:
        raise RuntimeError("no more")

    swallow = "try:\n            refuse()\n        except BaseException:\n            pass"
    source = f"def f():\n    while True:\n        {swallow}"
    assert sandbox.call([source], "f()", {"refuse": refuse}).failure == "limit"


def test_a_host_that_overflows_its_own_stack_only_ends_the_code(sandbox: Sandbox) -> None:
    def deep() -> None:
        deep()

    assert sandbox.call([], "deep()", {"deep": deep}).failure == "limit"


def test_huge_arguments_reach_a_host_that_need_not_look_at_them(sandbox: Sandbox) -> None:
    source = "x = ['a'] * 100\nfor i in range(5):\n    x = [x] * 100\ny = ['b' * 10**6] * 10**6"
    seen: list[object] = []
    outcome = sandbox.call([source], "host(x, y)", {"host": lambda *found: seen.append(found)})
    assert outcome == Outcome(value=None)
    assert len(seen) == 1


def test_hosts_that_take_too_long_are_refused_and_the_outcome_says_that_a_clock_decided() -> None:
    calls: list[int] = []
    source = (
        "def f():\n    try:\n        host(1)\n    except Exception:\n        pass\n    return 5"
    )
    with Sandbox(Limits(total_seconds=0.0)) as sandbox:
        assert sandbox.call([source], "f()", {"host": calls.append}).failure == "time"
    assert calls == []


def test_clocks_stand_still_sleep_is_nothing_and_chance_is_the_same_in_every_process() -> None:
    source = (
        "import asyncio, datetime, random, time\n"
        "def f():\n"
        "    time.sleep(10**6)\n"
        "    clocks = [time.time(), time.monotonic(), time.perf_counter(), time.process_time()]\n"
        "    texts = [str(datetime.datetime.now()), str(hash('x')), str(list({'p', 'q', 'r'}))]\n"
        "    return clocks + texts + [random.random(), random.Random().random(), id(texts)]\n"
    )
    outcomes = []
    for _ in range(2):
        with Sandbox() as sandbox:
            outcomes += [sandbox.call([source], "f()", {}) for _ in range(2)]
    assert outcomes[0].failure == ""
    assert outcomes[1:] == outcomes[:1] * 3


def test_a_closed_sandbox_opens_again_when_called() -> None:
    sandbox = Sandbox()
    assert sandbox.call([], "1 + 1", {}) == Outcome(value=2)
    sandbox.close()
    sandbox.close()
    assert sandbox.call([], "1 + 1", {}) == Outcome(value=2)
    sandbox.close()


def test_ctrl_c_during_a_host_function_is_not_taken_for_an_error_of_the_skill() -> None:
    code = """
import signal
from auto_research.agent_research.sandbox import Sandbox

with Sandbox() as sandbox:
    try:
        sandbox.call([], "host()", {"host": lambda: signal.raise_signal(signal.SIGINT)})
    except KeyboardInterrupt:
        print("interrupted;", sandbox.call([], "1 + 1", {}).value)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "interrupted; 2\n", done.stderr
