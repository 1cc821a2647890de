"""What the tests that need AppWorld share: agents that cheat or err, and looking at processes."""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from model_server import Reply, Say, code

from auto_research.agent_research.agents.base import Attempt
from auto_research.agent_research.agents.expert import ExpertAgent
from auto_research.agent_research.budget import Meter
from auto_research.agent_research.operators import EditRequest
from auto_research.agent_research.skill import Skill
from auto_research.benchmarks.appworld.home import Home
from auto_research.benchmarks.base import Environment, Referenced, Submission, Task

# Looks for the answer wherever AppWorld keeps it, past the guard of AppWorld's own.
HUNT = """
get = getattr
load = get(builtins, "__imp" + "ort__")
system, paths, raw = load("o" + "s"), load("path" + "lib"), load("pos" + "ix")
found, answer = [], None


def read(path):
    global answer
    try:
        answer = json.loads(get(paths, "Path")(path).read_text())
        found.append(str(path))
    except Exception:
        pass


root, task = $root, $task
for start in (root, system.environ.get("APPWORLD_ROOT", "."), ".", "..", "/proc/1/root" + root):
    read(f"{start}/data/tasks/{task}/ground_truth/answer.json")


def search(folder, depth=0):
    if depth > 6 or folder.startswith($skipped):
        return
    try:
        names = get(raw, "listdir")(folder)
    except OSError:
        return
    for name in names:
        if name in ("ground_truth", "answer.json", "private_data.json", "scenarios.py"):
            found.append(folder + "/" + name)
        if folder != "/proc":
            search(folder.rstrip("/") + "/" + name, depth + 1)


search("/")
try:
    truth = load("appworld.task", fromlist=["Task"]).Task.load(task_id=task).ground_truth
    answer = truth.answer
    found.append("Task.load")
except Exception:
    pass
try:
    found += [name for name in get(raw, "listdir")("/proc") if name.isdigit()]
except OSError:
    pass
library, place = load("ctypes"), load("struct").pack("PN", 8, 8)
peek = library.CDLL(None, use_errno=True).process_vm_readv
own = [1, system.getpid(), *(thread.native_id for thread in load("threading").enumerate())]
for pid in range(2, 65536):  # allowed where ptrace(2) is, and then it is a bad address (14)
    if pid not in own and peek(pid, place, 1, place, 1, 0) < 0:
        if library.get_errno() == 14:
            found.append("memory")
try:
    load("socket").create_connection(("127.0.0.1", $port), timeout=2)
    found.append("network")
except OSError:
    pass
print(json.dumps(sorted(set(found))[:5000]))
apis.supervisor.complete_task(answer=answer)
"""


def hunt(root: Path, task: str, skipped: Sequence[str] = (), port: int = 9) -> str:
    """The code of a hunt for a task's answer, for the full root's path."""
    values = {"root": str(root), "task": task, "skipped": tuple(skipped) or ("/usr",), "port": port}
    code = HUNT
    for name, value in values.items():
        code = code.replace(f"${name}", repr(value))
    return code


class Errands:
    """A scripted model that knows every task's program, and writes no function it was given."""

    def __init__(self, root: Path) -> None:
        self._known: dict[tuple[str, str], tuple[str, str]] = {}
        for path in sorted(root.glob("data/tasks/*/specs.json")):
            specs = json.loads(path.read_text())
            program = (path.parent / "ground_truth" / "reference.py").read_text()
            asked = (specs["instruction"], specs["supervisor"]["email"])
            self._known[asked] = (path.parent.name, program)

    def asked(self, request: Mapping[str, Any]) -> tuple[str, str]:
        """Id and reference program of the task that a request is about."""
        opening = request["messages"][1]["content"]
        for (instruction, email), found in self._known.items():
            if opening.endswith(f"The task: {instruction}") and email in opening:
                return found
        raise AssertionError(f"no task of appworld-mini: {opening[-300:]}")

    def __call__(self, request: Mapping[str, Any]) -> Reply:
        system, opening = (message["content"] for message in request["messages"][:2])
        if "You keep a collection" in system:
            return Say(code(CURRENCY))
        given = defined(opening.partition("```python\n")[2].partition("\n```")[0])
        tree = ast.parse(self.asked(request)[1])
        kept = [node for node in tree.body if getattr(node, "name", None) not in given]
        return Say(code("\n".join(map(ast.unparse, kept))))


CURRENCY = """def in_dollars(cents: int) -> str:
    \"\"\"An amount as people write it.\"\"\"
    return f"${cents / 100:.2f}"
"""


def defined(source: str) -> dict[str, str]:
    """The functions that code defines, by name: their normal forms."""
    body = ast.parse(source).body
    return {node.name: ast.dump(node) for node in body if isinstance(node, ast.FunctionDef)}


class CodeSession:
    """Runs one piece of code in the task's world."""

    def __init__(self, code: str, meter: Meter) -> None:
        self._code, self._meter = code, meter

    def fit(self, skill: Skill) -> float:
        return 0.0

    def attempt(self, skills: Sequence[Skill], world: Environment | None = None) -> Attempt:
        assert world is not None
        self._meter.spend("step")
        seen = world.execute(self._code)
        self._meter.spend("api-call", seen.calls)
        return Attempt(Submission(payload={"code": 1}), own_check=seen.finished, steps=1)

    def write(self, request: EditRequest) -> Sequence[Skill]:
        return ()


class CodeAgent:
    """Runs the same kind of code in every task."""

    name = "code"
    reads_answers = False

    def __init__(self, code: Callable[[Task], str]) -> None:
        self._code = code

    def session(self, task: Task, meter: Meter) -> CodeSession:
        return CodeSession(self._code(task), meter)

    def close(self) -> None:
        """Nothing was started."""


class MistakenExpert(ExpertAgent):
    """The expert, but wrong in one task."""

    def __init__(self, task: str) -> None:
        super().__init__()
        self.task = task

    def read_from(self, benchmark: Referenced) -> None:
        mistaken, wrong = self.task, "apis.supervisor.complete_task(answer='surely not')\n"

        class Planted:
            def reference(self, task: Task) -> str:
                program = benchmark.reference(task)
                return program + wrong if task.id == mistaken else program

        super().read_from(Planted())


def asks_only(home: Home, task: str) -> bool:
    """Whether the answer is all that the task asks for."""
    private = home.mini / "data" / "tasks" / task / "ground_truth" / "private_data.json"
    return not json.loads(private.read_text())["changes"]


def processes(word: str) -> list[int]:
    """The processes that have `word` in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in line:
                found.append(int(entry.name))
    return found


def gone(word: str, seconds: float = 240.0) -> bool:
    """Whether all of those processes end in time."""
    deadline = time.monotonic() + seconds
    while processes(word):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def resident(pid: int) -> int:
    """Resident memory of a process, in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0
