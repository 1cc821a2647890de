"""The root that worlds are served from: an AppWorld data root without any ground truth."""

from __future__ import annotations

import os
import shutil

from auto_research.benchmarks.appworld.inside import isolation

ROOT = "/appworld"  # of the data, as a world sees it
WORK = "/appworld-work"  # the one place that a world can write to, and begins empty


def shut_in(full: str, place: str, hidden: list[str]) -> str:
    """Shut this process in, with the blind root; returns that root's path. Raises OSError.

    `full` is the data root, `place` an empty folder. What stands in `hidden` (the full root is
    added) is seen by no world even where it lies inside a folder that Python needs.
    """
    isolation.new_namespaces()
    isolation.begin_root(place)
    for path in isolation.system_paths():
        isolation.show(place, path)
    for path in (full, os.path.realpath(full), *hidden):
        isolation.hide(place, path)
    environment = os.path.abspath(os.environ["VIRTUAL_ENV"])
    isolation.show(place, os.path.realpath(environment), environment)
    data, tasks = os.path.join(full, "data"), os.path.join(full, "data", "tasks")
    for name in ("api_docs", "base_dbs"):
        isolation.show(place, os.path.join(data, name), f"{ROOT}/data/{name}")
    for task in sorted(os.listdir(tasks)):
        at = f"{ROOT}/data/tasks/{task}"
        isolation.show(place, os.path.join(tasks, task, "dbs"), f"{at}/dbs")
        shutil.copy(os.path.join(tasks, task, "specs.json"), place + at)
    for path in ("/proc", WORK, f"{ROOT}/experiments"):
        os.makedirs(place + path, exist_ok=True)
    isolation.enter_root(place)
    return ROOT


def leave_open(full: str, place: str) -> str:
    """The same root made of links, for a process that is not shut in; returns its path."""
    data, tasks = os.path.join(full, "data"), os.path.join(full, "data", "tasks")
    for name in ("api_docs", "base_dbs"):
        _link(os.path.join(data, name), os.path.join(place, "data", name))
    for task in sorted(os.listdir(tasks)):
        for name in ("dbs", "specs.json"):
            _link(os.path.join(tasks, task, name), os.path.join(place, "data", "tasks", task, name))
    return place


def _link(path: str, at: str) -> None:
    os.makedirs(os.path.dirname(at), exist_ok=True)
    os.symlink(path, at)
