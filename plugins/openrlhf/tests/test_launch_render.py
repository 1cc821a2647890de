"""What a dry run shows of every shipped config, for every launcher."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from launch_cases import (
    LAUNCHERS,
    RL,
    SFT,
    changed,
    of_launcher,
    shipped,
    train,
    write_config,
)

CASES = [(name, launcher) for name in RL for launcher in LAUNCHERS] + [(SFT, "slurm")]
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(params=CASES, ids=lambda case: "-".join(case))
def case(request: pytest.FixtureRequest, tmp_path: Path, capsys: Capsys) -> Any:
    """Launcher, and the JSON of the dry run."""
    name, launcher = request.param
    config = write_config(tmp_path, of_launcher(shipped(name), launcher))
    ended = train(capsys, config, "--dry-run", "--json")
    assert ended.code == 0, ended.err
    assert not (tmp_path / "runs").exists()
    return launcher, json.loads(ended.out)


def _words(script: str) -> list[str]:
    return shlex.split(script[script.index("\nexec ") :].replace("\\\n", " "))


def test_the_script_runs_the_trainer_with_exactly_the_flags_that_are_told(case: Any) -> None:
    _, told = case
    words = _words(told["files"]["job/job.sh"])
    given = words[words.index(told["program"]) + 1 :]
    names = [word.removeprefix("--") for word in given if word.startswith("--")]
    asked = {name for name, value in told["flags"].items() if value is not False}
    assert sorted(names) == sorted({*asked, "ckpt.load_enable"})
    assert f"--{_model_flag(told)}" in given


def _model_flag(told: Any) -> str:
    sft = told["program"].endswith("train_sft")
    return "model.model_name_or_path" if sft else "actor.model_name_or_path"


def test_each_launcher_gets_its_own_file_and_command(case: Any) -> None:
    launcher, told = case
    expected = {"ray": set(), "slurm": {"job.sbatch"}, "kuberay": {"rayjob.yaml"}}[launcher]
    assert set(told["files"]) == {"job/job.sh", *expected}
    first = {"ray": ["ray", "job", "submit"], "slurm": ["sbatch", "--parsable"], "kuberay": []}
    assert told["submit"][: len(first[launcher])] == first[launcher]
    if launcher == "ray":
        words = told["submit"]
        assert words[words.index("--submission-id") + 1] == Path(told["run_dir"]).name
        assert words[words.index("--") + 1 :] == ["bash", "job.sh"]


# KubeRay's API types, v1: the fields that the template may use, and what each holds.
RAYJOB: dict[str, Any] = {
    "apiVersion": str,
    "kind": str,
    "metadata": {"name": str, "namespace": str},
    "spec": {
        "jobId": str,
        "entrypoint": str,
        "runtimeEnvYAML": str,
        "shutdownAfterJobFinishes": bool,
        "backoffLimit": int,
        "rayClusterSpec": {
            "rayVersion": str,
            "headGroupSpec": {"rayStartParams": dict, "template": dict},
            "workerGroupSpecs": [
                {
                    "groupName": str,
                    "replicas": int,
                    "minReplicas": int,
                    "maxReplicas": int,
                    "rayStartParams": dict,
                    "template": dict,
                }
            ],
        },
    },
}


def _check(found: Any, wanted: Any, place: str) -> None:
    if isinstance(wanted, dict):
        assert set(found) == set(wanted), place
        for key, inner in wanted.items():
            _check(found[key], inner, f"{place}.{key}")
    elif isinstance(wanted, list):
        for one in found:
            _check(one, wanted[0], place)
    else:
        assert isinstance(found, wanted), place


@pytest.mark.parametrize("name", RL)
def test_a_rayjob_has_kuberays_fields_and_a_gpu_pod_a_node(
    name: str, tmp_path: Path, capsys: Capsys
) -> None:
    data = changed(of_launcher(shipped(name), "kuberay"), cluster__secrets=["WANDB_API_KEY"])
    data["cluster"]["kuberay"]["secret"] = "keys"
    ended = train(capsys, write_config(tmp_path, data), "--dry-run", "--json")
    job: Any = yaml.safe_load(json.loads(ended.out)["files"]["rayjob.yaml"])
    _check(job, RAYJOB, "rayjob")
    cluster = job["spec"]["rayClusterSpec"]
    pods = [cluster["headGroupSpec"]["template"]["spec"]]
    for group in cluster["workerGroupSpecs"]:
        pods += [group["template"]["spec"]] * group["replicas"]
    assert len(pods) == data["cluster"]["nodes"]
    for pod in pods:
        container = pod["containers"][0]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == str(
            data["cluster"]["gpus_per_node"]
        )
        assert container["env"][0]["valueFrom"]["secretKeyRef"]["name"] == "keys"
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}
    env = yaml.safe_load(job["spec"]["runtimeEnvYAML"])["env_vars"]
    folder = job["spec"]["entrypoint"].split()[1].removesuffix("job.sh")
    assert env["PYTHONPATH"] == folder
    assert env["AUTO_RESEARCH_SPEC"] == f"{folder}spec.json"


def test_a_secret_is_named_and_its_value_is_nowhere(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = "wandb-0123456789abcdef"
    monkeypatch.setenv("WANDB_API_KEY", value)
    for launcher in LAUNCHERS:
        folder = tmp_path / launcher
        folder.mkdir()
        data = changed(of_launcher(shipped("smoke"), launcher), cluster__secrets=["WANDB_API_KEY"])
        if launcher == "kuberay":
            data["cluster"]["kuberay"]["secret"] = "keys"
        config = write_config(folder, data)
        shown = train(capsys, config, "--dry-run")
        assert shown.code == 0, shown.err
        assert "WANDB_API_KEY" in shown.out
        assert value not in shown.out + shown.err
    ended = train(capsys, config)  # KubeRay's files are written, nothing is submitted
    assert ended.code == 0, ended.err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "job.json" for path in files)
    assert not [path for path in files if value.encode() in path.read_bytes()]


def test_what_travels_is_the_code_and_runs_on_its_own(tmp_path: Path, capsys: Capsys) -> None:
    import subprocess
    import sys

    config = write_config(tmp_path, of_launcher(shipped("smoke"), "kuberay"))
    assert train(capsys, config).code == 0
    [job] = (tmp_path / "runs").glob("*/job")
    # Only what lies in the folder, and third-party packages.
    probe = (
        "import sys; sys.path.insert(0, '.');"
        "import auto_research, auto_research_openrlhf.spec as s;"
        "from auto_research.plugins import load_plugins;"
        "r = load_plugins();"
        "print(auto_research.__file__, s.read_spec().run, sorted(p.name for p in r.plugins))"
    )
    ended = subprocess.run(
        [sys.executable, "-P", "-c", probe], cwd=job, capture_output=True, text=True, check=True
    )
    assert str(job) in ended.stdout
    assert "'sage'" in ended.stdout
    assert "'openrlhf'" in ended.stdout


def test_the_flags_follow_from_the_budget(tmp_path: Path, capsys: Capsys) -> None:
    config = write_config(tmp_path, of_launcher(shipped(RL[0]), "ray"))
    told = json.loads(train(capsys, config, "--dry-run", "--json", "--seed", 3).out)
    flags = told["flags"]
    # 384 trajectories = 24 chains x 2 tasks x 8 siblings; 75 steps read 1800 rows once.
    assert flags["rollout.batch_size"] == 24
    assert flags["rollout.n_samples_per_prompt"] == 16
    assert flags["train.batch_size"] == 384
    assert (flags["data.max_samples"], flags["train.num_episodes"]) == (1800, 1)
    assert flags["train.seed"] == 3
    assert flags["eval.n_samples_per_prompt"] == 3 * 3  # tasks of a scenario x repeats
    assert told["budget"]["trajectories"] == 28_800
    assert told["budget"]["tokens_at_most"] == 28_800 * 28_048


def test_few_rows_are_read_as_often_as_the_steps_need(tmp_path: Path, capsys: Capsys) -> None:
    config = write_config(tmp_path, of_launcher(shipped("smoke"), "ray"))
    more = train(capsys, config, "--dry-run", "--json", "--set", "config.budget.steps=6")
    flags = json.loads(more.out)["flags"]
    assert (flags["data.max_samples"], flags["train.num_episodes"]) == (4, 3)
    assert flags["eval.steps"] == 6  # after the last step
