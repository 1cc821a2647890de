"""Where AppWorld is installed: its own virtual environment, and the data roots, by name."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import auto_research
from auto_research.errors import UserError

VERSION = "0.1.3.post1"  # of appworld, the one this code was written against
VARIABLE = "AUTO_RESEARCH_APPWORLD"
SETUP = "auto-research appworld setup"
PACKAGE = Path(auto_research.__file__).parent


def default_home() -> Path:
    """$AUTO_RESEARCH_APPWORLD, or a folder among the user's data."""
    if named := os.environ.get(VARIABLE):
        return Path(named).absolute()
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "auto-research" / "appworld"


@dataclass(frozen=True, slots=True)
class Home:
    """One installation. `mini` is the generated data root, `official` the downloaded one."""

    path: Path

    @property
    def python(self) -> Path:
        """The interpreter of AppWorld's own environment."""
        return self.path / "venv" / "bin" / "python"

    @property
    def mini(self) -> Path:
        return self.path / "mini"

    @property
    def _state(self) -> Path:
        return self.path / "appworld.json"

    def state(self) -> dict[str, str]:
        """What set-up has finished: ``version`` (of appworld), ``mini`` (its hash), ``official``
        (a root)."""
        try:
            return {str(k): str(v) for k, v in json.loads(self._state.read_text()).items()}
        except (OSError, ValueError):
            return {}

    def note(self, **done: str) -> None:
        """Remember that a part is finished."""
        whole = json.dumps({**self.state(), **done}, indent=1, sort_keys=True)
        fresh = self._state.with_suffix(".new")
        fresh.write_text(whole + "\n")
        fresh.replace(self._state)

    def installed(self) -> bool:
        """Whether the pinned version stands ready, its apps unpacked."""
        return self.state().get("version") == VERSION and self.python.exists()

    def environment(self) -> Mapping[str, str]:
        """Variables for a process of that interpreter. None of this process's own secrets."""
        kept = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TZ")
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "PYTHONPATH": str(self._code()),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "VIRTUAL_ENV": str(self.path / "venv"),
            "HOME": str(self.path),
            "APPWORLD_CACHE": str(self.path / "cache"),
        }

    def _code(self) -> Path:
        """A folder with nothing but a link to this very package, for that interpreter's path.

        Several checkouts may use one installation, so each has a folder; made where it is missing.
        """
        folder = self.path / "code" / sha256(os.fsencode(PACKAGE)).hexdigest()[:16]
        link = folder / PACKAGE.name
        if not link.is_symlink():
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                link.symlink_to(PACKAGE)
        return folder


def required() -> Home:
    """The installation. Raises UserError if there is none."""
    home = Home(default_home())
    if not home.installed():
        raise UserError(
            f"AppWorld {VERSION} is not set up", where=str(home.path), mend=f"run `{SETUP}`"
        )
    return home
