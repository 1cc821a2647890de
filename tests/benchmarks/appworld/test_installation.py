"""Installing AppWorld, looking for it, and refusing to go without it. Needs no AppWorld."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from auto_research.benchmarks.appworld import setup
from auto_research.benchmarks.appworld.home import PACKAGE, VERSION, Home, default_home, required
from auto_research.benchmarks.appworld.inside.judge import unfold
from auto_research.errors import UserError


def command(*words: str, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    code = "from auto_research.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, "AUTO_RESEARCH_APPWORLD": str(home), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def quiet(line: str) -> None:
    """Progress that nobody reads."""


def test_the_installation_is_where_the_variable_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTO_RESEARCH_APPWORLD", str(tmp_path / "here"))
    assert default_home() == tmp_path / "here"
    monkeypatch.delenv("AUTO_RESEARCH_APPWORLD")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_home() == tmp_path / "auto-research" / "appworld"
    with pytest.raises(UserError, match=r"not set up.*auto-research appworld setup"):
        required()


def test_what_is_finished_is_remembered_and_another_version_is_none(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.python.parent.mkdir(parents=True)
    home.python.touch()
    assert home.state() == {} and not home.installed()
    home.note(version=VERSION)
    home.note(mini="abc")
    assert home.state() == {"version": VERSION, "mini": "abc"} and home.installed()
    home.note(version="0.0.1")
    assert not home.installed()


def test_no_secret_of_this_process_reaches_appworlds_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hidden")
    assert "hidden" not in Home(tmp_path).environment().values()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--python", "/no/such/python"], "environment cannot be made"),
        (["--root", "/no/such/root"], "no AppWorld data root"),
        (["--data", "all"], "mini or official"),
    ],
)
def test_setup_tells_what_is_wrong_in_one_line(
    options: list[str], told: str, tmp_path: Path
) -> None:
    done = command("appworld", "setup", "--home", str(tmp_path / "home"), *options, home=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr


def test_setup_refuses_a_place_that_it_cannot_write_to(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write there"):
        setup.set_up(
            Home(tmp_path / "file"), python=sys.executable, official=False, root=None, told=quiet
        )


def test_a_root_with_the_word_memory_in_its_path_is_refused(tmp_path: Path) -> None:
    for folder in ("datasets", "tasks"):
        (tmp_path / "in-memory" / "data" / folder).mkdir(parents=True)
    with pytest.raises(UserError, match="contains the word 'memory'"):
        setup.set_up(
            Home(tmp_path / "home"),
            python="/no/such/python",
            official=False,
            root=tmp_path / "in-memory",
            told=quiet,
        )


@pytest.mark.parametrize("name", ["appworld-mini", "appworld", "appworld-challenge"])
def test_a_benchmark_that_is_not_set_up_says_how_to_set_it_up(name: str, tmp_path: Path) -> None:
    done = command(
        *("agent-eval", "--benchmark", name, "--agent", "expert", "--out", str(tmp_path / "runs")),
        home=tmp_path / "home",
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "auto-research appworld setup" in line
    assert not (tmp_path / "runs").exists()


def test_doctor_names_a_mend_for_all_that_is_missing(tmp_path: Path) -> None:
    done = command("doctor", "--json", home=tmp_path)
    checks = {check["name"]: check for check in json.loads(done.stdout)}
    assert done.returncode == 0
    assert checks["auto-research"]["ok"]
    assert not checks[f"AppWorld {VERSION}"]["ok"]
    assert checks["appworld-mini"]["mend"] == "auto-research appworld setup"
    assert all(check["ok"] or check["mend"] for check in checks.values())
    assert "user namespaces" in command("doctor", home=tmp_path).stdout


def test_doctor_takes_no_package_of_a_version_that_does_not_do(tmp_path: Path) -> None:
    old = tmp_path / "packages" / "openai-2.9.dist-info"
    old.mkdir(parents=True)
    (old / "METADATA").write_text("Metadata-Version: 2.1\nName: openai\nVersion: 2.9\n")
    done = command("doctor", "--json", home=tmp_path, PYTHONPATH=str(old.parent))
    (check,) = (check for check in json.loads(done.stdout) if check["name"] == "openai")
    assert (check["ok"], check["found"]) == (False, "2.9")
    assert check["mend"].startswith(f"{sys.executable} -m pip install 'openai<")


def test_each_checkout_runs_its_own_code_in_one_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for checkout in (PACKAGE, tmp_path / "other" / PACKAGE.name, PACKAGE):
        monkeypatch.setattr("auto_research.benchmarks.appworld.home.PACKAGE", checkout)
        found = Path(Home(tmp_path).environment()["PYTHONPATH"]) / PACKAGE.name
        assert found.readlink() == checkout


def test_a_world_cannot_name_the_files_that_are_written_for_it(tmp_path: Path) -> None:
    unfold(
        {
            "dbs/spotify.jsonl": "[]",
            "../outside.txt": "x",
            "dbs/../../outside.txt": "x",
            "/tmp/outside.txt": "x",
            "evaluation/report.md": "x",
        },
        str(tmp_path / "task"),
    )
    found = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")]
    assert found == ["task/dbs/spotify.jsonl"]


def test_a_process_that_is_shut_in_sees_nothing_else(tmp_path: Path) -> None:
    script = f"""
import os, sys
from auto_research.benchmarks.appworld.inside import isolation
try:
    isolation.new_namespaces()
except OSError as error:
    print("refused:", error)
    sys.exit()
isolation.begin_root({str(tmp_path)!r})
for path in isolation.system_paths():
    isolation.show({str(tmp_path)!r}, path)
isolation.hide({str(tmp_path)!r}, {str(PACKAGE)!r})
isolation.enter_root({str(tmp_path)!r})
isolation.give_up_rights()
seen = [p for p in ({str(PACKAGE / "rng.py")!r}, "/proc/self", "/home", "/etc/passwd", "/root/.ssh")
        if os.path.exists(p)]
writable = os.access("/usr/lib", os.W_OK)
try:
    isolation.private_folder("/usr")
    seen.append("rights")
except OSError:
    pass
print(seen, writable)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    if done.stdout.startswith("refused:"):
        pytest.skip(f"no user namespaces here: {done.stdout}")
    assert done.stdout.strip() == "[] False"


@pytest.mark.appworld
def test_what_is_set_up_is_left_alone(home: Home) -> None:
    done = command("appworld", "setup", home=home.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert str(home.path) in done.stdout


@pytest.mark.appworld
def test_official_data_that_cannot_be_downloaded_is_one_clear_line(home: Home) -> None:
    nowhere = "http://127.0.0.1:9"
    done = command(
        *("appworld", "setup", "--data", "official"),
        home=home.path,
        HTTPS_PROXY=nowhere,
        https_proxy=nowhere,
    )
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert "official data cannot be downloaded" in last and "--root" in last
    assert "official" not in home.state()


@pytest.mark.appworld
def test_a_package_that_cannot_be_installed_is_one_clear_line(home: Home, tmp_path: Path) -> None:
    done = command(
        *("appworld", "setup"), home=tmp_path / "fresh", PIP_NO_INDEX="1", PIP_FIND_LINKS=""
    )
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert f"appworld {VERSION} cannot be installed" in last and "check the network" in last
    assert not Home(tmp_path / "fresh").installed()
