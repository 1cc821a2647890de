"""Notices code that looks where no task leads: at answers, other files, processes, the network.

A sign for the report, and no protection: that is the isolation. Python tells of such steps before
they are made (audit events, PEP 578); code that tampers with its own process can keep it quiet.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

_READING = ("open", "os.listdir", "os.scandir", "os.chdir", "os.walk", "glob.glob")
_LEAVING = (
    *("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind"),
    *("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn"),
    *("os.kill", "ctypes.dlopen", "ctypes.dlsym"),
)
_ANSWERS = "ground_truth"
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc", "/dev")  # what libraries read on their own


class Watch:
    """From its making on it notes, in `strayed`, whether code in this process left its place.

    `places` are the folders that code may read.
    """

    def __init__(self, places: Sequence[str]) -> None:
        self.strayed = False
        known = {*_SYSTEM, sys.prefix, sys.base_prefix, *places}
        self._known = tuple(f"{os.path.abspath(path).rstrip('/')}/" for path in known)
        sys.addaudithook(self._hear)

    def _hear(self, event: str, told: tuple[Any, ...]) -> None:
        if self.strayed:
            return
        if event in _LEAVING:
            self.strayed = True
        elif event in _READING and told and isinstance(told[0], str | bytes):
            path = f"{os.path.abspath(os.fsdecode(told[0]))}/"
            self.strayed = _ANSWERS in path or not path.startswith(self._known)
