"""Opens worlds on request, each in a process of its own, forked from one that is warm already.

Run as ``python -m auto_research.benchmarks.appworld.inside.server``. The control socket (an open
file descriptor) brings ``{"open": task}`` together with the descriptor of that world's socket,
which is answered with ``{"pid": n}``, and ``{"end": pid}``. When it closes, every world ends.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
from typing import NoReturn

from auto_research.benchmarks.appworld.inside import blind, isolation, remembered, world

# Signs in everywhere and calls what needs nothing else, so that what AppWorld works out on first
# use is worked out before worlds are forked.
WARM_UP = """
me, tokens = apis.supervisor.show_profile(), {}
for row in apis.supervisor.show_account_passwords():
    name = row["account_name"]
    user = me["phone_number"] if name == "phone" else me["email"]
    try:
        tokens[name] = apis[name].login(username=user, password=row["password"])["access_token"]
    except Exception:
        pass
for app, call, needed in $CALLS:
    try:
        apis[app][call](**{name: tokens[app] for name in needed})
    except Exception:
        pass
"""


def main() -> None:
    """Serve until the control socket closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--root", required=True, help="the full data root")
    parser.add_argument("--place", required=True, help="an empty folder")
    parser.add_argument("--seconds", type=int, required=True, help="limit on one piece of code")
    parser.add_argument("--hide", action="append", default=[])
    parser.add_argument("--unsafe", action="store_true")
    options = parser.parse_args()
    control = socket.socket(fileno=options.control)
    try:
        root = (
            blind.leave_open(options.root, options.place)
            if options.unsafe
            else blind.shut_in(options.root, options.place, options.hide)
        )
        _settle(root, options.place if options.unsafe else blind.WORK)
    except Exception as error:
        control.sendall(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
        os._exit(1)
    control.sendall(json.dumps({"ready": True}).encode())
    _serve(control, options.seconds, shut_in=not options.unsafe)
    os._exit(0)


def _settle(root: str, work: str) -> None:
    """Import AppWorld and warm it up with a world, so that forked ones begin at once."""
    os.environ.update(APPWORLD_ROOT=root)
    os.environ.update(dict.fromkeys(("APPWORLD_CACHE", "HOME", "IPYTHONDIR", "TMPDIR"), work))
    os.chdir(work)
    sys.path[:] = [path for path in sys.path if os.path.isdir(path)]
    remembered.the_server_of_the_apps()
    remembered.validators()
    tasks = sorted(os.listdir(os.path.join(root, "data", "tasks")))
    opened = world.open_world(tasks[0], 600)
    world.execute(opened, WARM_UP.replace("$CALLS", repr(_plain_calls(root))), None)
    opened.close()
    remembered.where_clocks_are()
    remembered.what_was_imported()


def _plain_calls(root: str) -> list[tuple[str, str, list[str]]]:
    """App, name and arguments of each call that reads and needs an access token at most."""
    folder, found = os.path.join(root, "data", "api_docs", "standard"), []
    for file in sorted(os.listdir(folder)):
        with open(os.path.join(folder, file), encoding="utf-8") as docs:
            told = json.load(docs)
        for name, doc in told.items():
            needed = {part["name"] for part in doc["parameters"] if part["required"]}
            if doc["method"] == "GET" and needed <= {"access_token"}:
                found.append((file.removesuffix(".json"), name, list(needed)))
    return found


def _serve(control: socket.socket, seconds: int, *, shut_in: bool) -> None:
    pids: set[int] = set()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 65536, 1)
        if not message:
            break
        request = json.loads(message)
        if "open" in request:
            pid = os.fork()
            if pid == 0:
                control.close()
                _become_world(
                    socket.socket(fileno=descriptors[0]), request["open"], seconds, shut_in
                )
            os.close(descriptors[0])
            pids.add(pid)
            control.sendall(json.dumps({"pid": pid}).encode())
        elif request["end"] in pids:
            pids.remove(request["end"])
            _end(request["end"])
            control.sendall(b"{}")
    for pid in pids:
        _end(pid)


def _end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _become_world(connection: socket.socket, task: str, seconds: int, shut_in: bool) -> NoReturn:
    """Serve one world in this process, or in a child that is the first of its own namespace."""
    try:
        isolation.die_with_parent()
        if shut_in:
            isolation.unshare(isolation.NEW_MOUNTS | isolation.NEW_PIDS)
            if child := os.fork():
                connection.close()
                os.waitpid(child, 0)
                os._exit(0)
            isolation.die_with_parent()
            isolation.private_folder(f"{blind.ROOT}/experiments")
            isolation.private_folder(blind.WORK)
            os.chdir(blind.WORK)
            isolation.give_up_rights()
        world.limit_resources()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        world.serve(connection, task, seconds)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
