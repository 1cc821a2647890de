"""`auto-research doctor`: what is installed, what is missing, and the command that mends it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from auto_research.cli.output import AsJson, print_json, print_rows

_OURS = "auto-research"

# What a system may forbid user namespaces with: the setting, and the value that allows them.
_SETTINGS = {
    "kernel.apparmor_restrict_unprivileged_userns": "0",
    "kernel.unprivileged_userns_clone": "1",
    "user.max_user_namespaces": "10000",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that some part of the program needs. `mend` is a command; empty if all is well."""

    name: str
    ok: bool
    found: str
    needed_for: str
    mend: str = ""


def doctor(as_json: AsJson = False) -> None:
    """Say what is installed and what is missing, with the command that mends each."""
    checks = list(_checks())
    if as_json:
        print_json([asdict(check) for check in checks])
        return
    rows = [
        {
            "": "ok" if check.ok else "missing",
            "what": check.name,
            "found": check.found,
            "needed for": check.needed_for,
            "mend": check.mend,
        }
        for check in checks
    ]
    print_rows(rows, ("", "what", "found", "needed for", "mend"), as_json=False)


def _checks() -> Iterator[Check]:
    found = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", True, found, "everything")
    yield Check(_OURS, True, version(_OURS), "everything")
    yield _package("openai", "--agent llm")
    yield _package("torch", "training small models")
    yield from _appworld()


def _package(name: str, needed_for: str) -> Check:
    """A package that an extra of ours asks for, in a version that it allows."""
    wanted = next(r for r in map(Requirement, requires(_OURS) or ()) if r.name == name)
    mend = f"{sys.executable} -m pip install '{name}{wanted.specifier}'"
    try:
        found = version(name)
    except PackageNotFoundError:
        return Check(name, False, "", needed_for, mend)
    fits = wanted.specifier.contains(found, prereleases=True)
    return Check(name, fits, found, needed_for, "" if fits else mend)


def _appworld() -> Iterator[Check]:
    from auto_research.benchmarks.appworld.home import SETUP, VERSION, Home, default_home
    from auto_research.benchmarks.appworld.setup import sources_hash
    from auto_research.benchmarks.appworld.worlds import can_be_shut_in

    home = Home(default_home())
    state, all_benchmarks = home.state(), "--benchmark appworld, appworld-mini"
    place = str(home.path)
    installed = home.installed()
    yield Check(
        f"AppWorld {VERSION}",
        installed,
        place if installed else "",
        all_benchmarks,
        "" if installed else SETUP,
    )
    mini = state.get("mini", "")
    current = installed and mini == sources_hash() and home.mini.is_dir()
    told = str(home.mini) if mini else ""
    yield Check(
        "appworld-mini",
        current,
        told if current or not mini else f"{told}, of another version",
        "--benchmark appworld-mini",
        "" if current else SETUP,
    )
    official = state.get("official", "")
    stands = bool(official) and (Path(official) / "data" / "datasets").is_dir()
    yield Check(
        "AppWorld's official data",
        stands,
        official if stands else "",
        "--benchmark appworld",
        "" if stands else f"{SETUP} --data official",
    )
    why = can_be_shut_in(home) if installed else "not tried: AppWorld is not set up"
    yield Check(
        "user namespaces",
        not why,
        why or "worlds can be isolated",
        "isolated worlds",
        "" if not why else _allowing() if installed else SETUP,
    )


def _allowing() -> str:
    """The command that allows user namespaces here, as far as the settings tell."""
    told = []
    for name, value in _SETTINGS.items():
        path = Path("/proc/sys") / name.replace(".", "/")
        now = path.read_text().strip() if path.is_file() else value
        if now != value and (now == "0" or value == "0"):
            told.append(f"{name}={value}")
    if not told:
        return "auto-research agent-eval --unsafe-worlds ..."
    return f"sudo sysctl -w {' '.join(told)}"
