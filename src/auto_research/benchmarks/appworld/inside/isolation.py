"""Shut a process into namespaces: a root of its own making, no network, no other process.

Needs unprivileged user namespaces, and nothing installed: the system calls are made by ctypes.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Sequence

NEW_MOUNTS, NEW_USER, NEW_PIDS = 0x00020000, 0x10000000, 0x20000000
_NEW_NETWORK, _NEW_IPC = 0x40000000, 0x08000000
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 32, 4096, 16384, 1 << 18
_DETACH = 2
_KEPT = 2 | 4 | 8 | 1024  # nosuid, nodev, noexec, noatime: a remount must keep what it finds
_NO_NEW_PRIVILEGES, _DEATH_SIGNAL, _KILL = 38, 1, 9
_CAPABILITY_V3 = 0x20080522
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")

_libc = ctypes.CDLL(None, use_errno=True)


def new_namespaces() -> None:
    """A user namespace with mounts, network and IPC of its own. Raises OSError if refused."""
    user, group = os.getuid(), os.getgid()
    unshare(NEW_USER | NEW_MOUNTS | _NEW_NETWORK | _NEW_IPC)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")
    _mount("none", "/", "", _RECURSIVE | _PRIVATE)


def unshare(flags: int) -> None:
    """unshare(2). Raises OSError."""
    _checked(_libc.unshare(flags), "unshare")


def system_paths() -> list[str]:
    """What a Python process needs of the system, apart from its virtual environment."""
    return [path for path in (*_SYSTEM, *_DEVICES, sys.base_prefix) if os.path.lexists(path)]


def begin_root(place: str) -> None:
    """An empty file system in memory at the folder `place`, to be furnished with `show`."""
    _mount("tmpfs", place, "tmpfs", 0)


def show(root: str, path: str, at: str | None = None, *, writable: bool = False) -> None:
    """Let `path` be seen in the new root, at the same place unless `at` says otherwise."""
    target = root + (at or path)
    if os.path.islink(path):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.lexists(target):
            os.symlink(os.readlink(path), target)
        return
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        open(target, "x").close()
    _mount(path, target, "", _BIND | _RECURSIVE)
    if not writable and not path.startswith("/dev/"):
        kept = os.statvfs(target).f_flag & _KEPT
        _mount("none", target, "", _REMOUNT | _BIND | _READ_ONLY | kept)


def hide(root: str, path: str) -> None:
    """Lay an empty folder over `path` where the new root shows it."""
    if os.path.isdir(root + path):
        _mount("tmpfs", root + path, "tmpfs", 0)


def enter_root(root: str) -> None:
    """Make `root` the root of this process, and let go of the old one."""
    os.chdir(root)
    _checked(_libc.syscall(_PIVOT_ROOT[platform.machine()], b".", b"."), "pivot_root")
    _checked(_libc.umount2(b".", _DETACH), "umount")
    os.chdir("/")


def private_folder(path: str) -> None:
    """An empty file system in memory at `path`, in a mount namespace of this process alone."""
    _mount("tmpfs", path, "tmpfs", 0, "size=1g")


def give_up_rights() -> None:
    """No capability from now on, in this process and all it starts. Raises OSError."""
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "prctl")
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_V3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_libc.capset(header, nothing), "capset")


def die_with_parent() -> None:
    """The kernel kills this process when the thread that started it ends."""
    _checked(_libc.prctl(_DEATH_SIGNAL, _KILL, 0, 0, 0), "prctl")


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    names = [os.fsencode(name) for name in (source, target, kind)]
    told = os.fsencode(options) or None
    _checked(_libc.mount(*names, ctypes.c_ulong(flags), told), f"mount {target}")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _checked(result: int, what: str) -> None:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def main(arguments: Sequence[str]) -> int:
    """Try it out at the folder given: 0 if a process can be shut in here."""
    try:
        if platform.machine() not in _PIVOT_ROOT:
            raise OSError(f"unknown machine {platform.machine()}")
        (place,) = arguments
        new_namespaces()
        begin_root(place)
        for path in system_paths():
            show(place, path)
        enter_root(place)
        unshare(NEW_MOUNTS | NEW_PIDS)
        private_folder("/usr")
        give_up_rights()
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
