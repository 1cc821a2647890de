"""Set AppWorld up: its own environment, its apps, and the data. Goes on where it was broken off."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from auto_research.benchmarks.appworld.home import VERSION, Home
from auto_research.errors import UserError

Told = Callable[[str], None]


def set_up(home: Home, *, python: str, official: bool, root: Path | None, told: Told) -> None:
    """Bring the installation to its end; what stands already is left alone.

    `python` makes the environment (3.11 or newer). `root` is an AppWorld data root to use as the
    official one. Raises UserError.
    """
    if root is not None:
        _check_root(root)
    _check_path(home.path)
    try:
        home.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write there: {error.strerror}", where=str(home.path)) from None
    if not home.installed():
        _install(home, python, told)
    built = sources_hash()
    if home.state().get("mini") != built:
        _build_mini(home, built, told)
    if root is not None:
        home.note(official=str(root.absolute()))
    elif official and not _stands(home.state().get("official", "")):
        _download(home, told)


def sources_hash() -> str:
    """Hash of what builds appworld-mini, 16 hex digits: it is built anew when this changes."""
    digest = hashlib.sha256(VERSION.encode())
    for path in sorted((Path(__file__).parent / "inside" / "mini").iterdir()):
        if path.suffix in (".py", ".txt"):
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _install(home: Home, python: str, told: Told) -> None:
    told(f"AppWorld {VERSION}: an environment of its own in {home.path / 'venv'}")
    if not home.python.exists():
        shutil.rmtree(home.path / "venv", ignore_errors=True)
        venv = [python, "-m", "venv", str(home.path / "venv")]
        _run(home, venv, "the environment cannot be made", "name another with --python")
    pip = [str(home.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run(
        home,
        [*pip, f"appworld=={VERSION}"],
        f"appworld {VERSION} cannot be installed",
        "check the network and the package index, and run this again",
        own=True,
    )
    told("AppWorld: unpacking its apps")
    unpack = [str(home.path / "venv" / "bin" / "appworld"), "install"]
    _run(home, unpack, "its apps cannot be unpacked", "remove the folder and run this again")
    home.note(version=VERSION)


def _build_mini(home: Home, built: str, told: Told) -> None:
    told(f"appworld-mini: building it in {home.mini} (about a minute)")
    fresh = home.path / "mini.new"
    module = "auto_research.benchmarks.appworld.inside.mini.build"
    build = [str(home.python), "-m", module, str(fresh)]
    _run(home, build, "appworld-mini cannot be built", "this is a defect: please report it")
    shutil.rmtree(home.mini, ignore_errors=True)
    fresh.replace(home.mini)
    home.note(mini=built)


def _download(home: Home, told: Told) -> None:
    root = home.path / "official"
    told(f"AppWorld: downloading the official data to {root}")
    root.mkdir(exist_ok=True)
    tool = str(home.path / "venv" / "bin" / "appworld")
    network = "check the network; or download it elsewhere and name its folder with --root"
    _run(
        home,
        [tool, "download", "data", "--root", str(root)],
        "the official data cannot be downloaded",
        network,
        own=True,
    )
    try:
        _check_root(root)
    except UserError:
        raise UserError("the official data cannot be downloaded", mend=network) from None
    home.note(official=str(root))


def _check_root(root: Path) -> None:
    if not _stands(str(root)):
        raise UserError(
            "this is no AppWorld data root: it has no data/datasets or no data/tasks",
            where=str(root),
            mend="give the folder that holds `data`",
        )
    _check_path(root)


def _check_path(path: Path) -> None:
    if "memory" in str(path.absolute()):
        raise UserError(
            "AppWorld cannot use a folder whose path contains the word 'memory'", where=str(path)
        )


def _stands(root: str) -> bool:
    data = Path(root) / "data"
    return bool(root) and (data / "datasets").is_dir() and (data / "tasks").is_dir()


def _run(home: Home, argv: Sequence[str], what: str, mend: str, *, own: bool = False) -> None:
    """Run a step. `own` gives it this process's variables (proxies, indexes) as well."""
    environment = {**os.environ, **home.environment()} if own else dict(home.environment())
    if own:
        environment.pop("PYTHONPATH")
        environment["HOME"] = os.environ.get("HOME", environment["HOME"])
    try:
        done = subprocess.run(
            argv,
            cwd=home.path,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise UserError(f"{what}: {error.strerror}", where=argv[0], mend=mend) from None
    if done.returncode != 0:
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise UserError(what, where=said[-1][:200] if said else argv[0], mend=mend)
