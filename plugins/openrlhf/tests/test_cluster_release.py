"""Against the real release: its parser and assertions take what is rendered; shellcheck too."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from auto_research_openrlhf import release
from auto_research_openrlhf.flags import Option, options
from launch_cases import CLUSTER, LAUNCHERS, RL, SFT, of_launcher, shipped, train, write_config

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]
HERE = Path(__file__).parent
PYTHON = CLUSTER / "bin" / "python"
CASES = [(name, launcher) for name in RL for launcher in LAUNCHERS] + [(SFT, "slurm")]
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def installed() -> None:
    if not (CLUSTER / "bin" / "shellcheck").exists():
        pytest.skip("run `make test-cluster`, which installs OpenRLHF and shellcheck")


@pytest.fixture(params=CASES, ids=lambda case: "-".join(case))
def told(request: pytest.FixtureRequest, tmp_path: Path, capsys: Capsys) -> Any:
    name, launcher = request.param
    config = write_config(tmp_path, of_launcher(shipped(name), launcher))
    ended = train(capsys, config, "--dry-run", "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def _real(program: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    command = [str(PYTHON), str(HERE / "real_parser.py"), program, *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_release_takes_every_flag_for_what_it_is(told: Any) -> None:
    script = told["files"]["job/job.sh"]
    words = shlex.split(script[script.index("\nexec ") :].replace("\\\n", " "))
    program = told["program"].rpartition(".")[2]
    ended = _real(program, words[words.index(told["program"]) + 1 :])
    assert ended.returncode == 0, ended.stderr
    seen = json.loads(ended.stdout.splitlines()[-1])
    for name, value in told["flags"].items():
        part: Any = seen
        for step in name.split("."):
            part = part[step]
        assert part == value or name == "eval.steps", name


def test_scripts_are_clean(told: Any, tmp_path: Path) -> None:
    scripts = {n: text for n, text in told["files"].items() if not n.endswith(".yaml")}
    for name, text in scripts.items():
        path = tmp_path / name.replace("/", "-")
        path.write_text(text)
        command = [CLUSTER / "bin" / "shellcheck", "--shell=bash", path]
        ended = subprocess.run(command, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout


def test_what_is_stored_of_the_parser_is_what_the_release_has() -> None:
    module = Path(release.__file__)
    ended = subprocess.run([PYTHON, module], capture_output=True, text=True, check=True)
    assert module.with_name("flags.json").read_text() == ended.stdout
    assert isinstance(options("train_ppo_ray")["train.batch_size"], Option)


def test_the_release_itself_would_take_the_beginning_of_a_name() -> None:
    ended = _real("train_ppo_ray", ["--rollout.n_samples", "8", *_LEAST])
    assert json.loads(ended.stdout.splitlines()[-1])["rollout"]["n_samples_per_prompt"] == 8


_LEAST = [
    *("--train.agent_func_path", "agent.py", "--actor.model_name_or_path", "m"),
    *("--algo.advantage.estimator", "dr_grpo", "--vllm.num_engines", "8"),
]
