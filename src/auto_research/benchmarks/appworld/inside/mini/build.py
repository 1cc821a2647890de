"""Build the data root of appworld-mini.

Run as ``python -m auto_research.benchmarks.appworld.inside.mini.build ROOT``; takes about a minute.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from auto_research.benchmarks.appworld.inside.mini.draft import Value
from auto_research.benchmarks.appworld.inside.mini.plan import NOW, Person, make_world
from auto_research.benchmarks.appworld.inside.mini.scenarios import SEED, Written, all_scenarios


def main() -> None:
    """Build it anew; an older one of this name goes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    root = parser.parse_args().root.absolute()
    shutil.rmtree(root, ignore_errors=True)
    data = root / "data"
    data.mkdir(parents=True)
    os.environ["APPWORLD_ROOT"] = str(root)

    from auto_research.benchmarks.appworld.inside.mini.seed import write_base

    world = make_world(SEED)
    write_base(data, world)
    (data / "datasets").mkdir()
    for split, scenarios in all_scenarios(world).items():
        tasks = [written for scenario in scenarios for written in scenario]
        for written in tasks:
            _write_task(data, written)
        lines = "".join(f"{written.task}\n" for written in tasks)
        (data / "datasets" / f"{split}.txt").write_text(lines)
        print(f"{split}: {len(scenarios)} scenarios, {len(tasks)} tasks")
    sys.stdout.flush()
    os._exit(0)  # AppWorld's objects would take long to be taken apart


def _write_task(data: Path, written: Written) -> None:
    from appworld.common.constants import CANARY_STRING, DB_VERSION

    folder, person, draft = data / "tasks" / written.task, written.person, written.draft
    truth = folder / "ground_truth"
    truth.mkdir(parents=True)
    _write_databases(data, folder / "dbs", written)
    supervisor = {
        "first_name": person.first_name,
        "last_name": person.last_name,
        "email": person.email,
        "phone_number": person.phone_number,
    }
    _write_json(
        folder / "specs.json",
        {
            "instruction": draft.instruction,
            "supervisor": supervisor,
            "datetime": NOW,
            "db_version": DB_VERSION,
            "canary_string": CANARY_STRING,
        },
    )
    lines = draft.program.splitlines()
    metadata = {
        "mode": "minimal",
        "difficulty": written.family.difficulty,
        "num_apps": len(written.family.apps),
        "num_apis": len({word for line in lines for word in line.split() if "apis." in word}),
        "num_api_calls": sum(line.count("apis.") for line in lines),
        "num_solution_code_lines": len(lines),
    }
    _write_json(truth / "metadata.json", metadata)
    _write_json(truth / "public_data.json", {})
    _write_json(truth / "private_data.json", draft.private_data())
    _write_json(truth / "answer.json", draft.answer)
    _write_json(truth / "test_data.json", draft.requirements())
    evaluation = Path(__file__).with_name("evaluation.py.txt").read_text()
    (truth / "evaluation.py").write_text(evaluation.replace("$CANARY", CANARY_STRING))
    (truth / "reference.py").write_text(f"# Canary String: {CANARY_STRING}\n{draft.program}")


def _write_databases(data: Path, folder: Path, written: Written) -> None:
    """What a task's world has beyond the base: who its supervisor is, and what is asked."""
    from appworld.apps import get_all_apps
    from appworld.apps.model_lib import CachedDBHandler
    from appworld.collections.models import ModelCollection

    models = ModelCollection.load(
        from_db_home_path=str(data / "base_dbs"),
        to_db_home_path=f":memory:task_input-{written.task}",
        load_apps=["supervisor"],
    )
    _supervise(models.supervisor, written.person, written.draft.instruction)
    models.save(str(folder), format="changes", app_names=["supervisor"], delete_if_exists=True)
    CachedDBHandler.reset()
    for app in get_all_apps():
        path = folder / f"{app}.jsonl"
        if not path.exists():
            path.touch()  # a missing one would stand for an empty database


def _supervise(supervisor: Any, person: Person, instruction: str) -> None:
    who = supervisor.Supervisor(
        first_name=person.first_name,
        last_name=person.last_name,
        email=person.email,
        phone_number=person.phone_number,
        birthday=person.birthday,
        sex=person.sex,
    )
    who.save()
    supervisor.Task(supervisor_id=who.id, instruction=instruction).save()
    supervisor.Address(
        supervisor_id=who.id,
        name="Home",
        street_address=f"{person.index + 1} Mill Lane",
        city="Fairhaven",
        state="Ohio",
        country="United States",
        zip_code=43210,
    ).save()
    for app, password in person.passwords.items():
        supervisor.AccountPassword(supervisor_id=who.id, account_name=app, password=password).save()


def _write_json(path: Path, value: Value | dict[str, Any] | list[dict[str, str]] | None) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")


if __name__ == "__main__":
    main()
