"""The stored library: nothing committed is lost, nothing half done is seen, whoever else writes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from library_examples import FEW

from auto_research.agent_research.library import ChangeError, Create, Retire, Revise
from auto_research.agent_research.skill import Usage
from auto_research.agent_research.store import ChangeRecord, SkillStore
from auto_research.errors import UserError

A, B, C = FEW[:3]

WRITER = """
import sys
from auto_research.agent_research.library import Create
from auto_research.agent_research.skill import function_skill
from auto_research.agent_research.store import SkillStore
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.stdin.readline()
with SkillStore(path) as store:
    for n in range(count):
        source = f"def f(x): return go({name!r}, {n})"
        store.journal(n, int(name), source)
        store.apply([Create(function_skill(source), cause=(name,))], batch=n)
"""
VICTIM = """
import sys
from auto_research.agent_research.library import Create
from auto_research.agent_research.skill import function_skill
from auto_research.agent_research.store import SkillStore
store = SkillStore(sys.argv[1])
batch = store.last_batch() + 1
while True:
    for index in range(3):
        store.journal(batch, index, {"batch": batch})
    skills = [function_skill(f"def f(x): return go({batch}, {n})") for n in range(3)]
    store.commit(batch, [Create(skill) for skill in skills], {}, {"batch": batch})
    print(batch, flush=True)
    batch += 1
"""


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_what_was_applied_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    with SkillStore(tmp_path / "new" / "library.sqlite") as store:
        shown = store.apply([Create(B), Create(A)], usage={A.id: Usage(retrieved=2)})
    with SkillStore(store.path, create=False) as store:
        assert list(store.view().skills) == [B.id, A.id]
        assert store.view().skills == shown.skills
        assert store.view().skills[A.id].usage.retrieved == 2


def test_changes_are_applied_all_or_none(tmp_path: Path) -> None:
    with SkillStore(tmp_path / "a.sqlite") as store:
        store.apply([Create(A)])
        with pytest.raises(ChangeError):
            store.apply([Create(B), Retire("nobody", "")])
        assert list(store.view().skills) == [A.id]
        assert len(store.log()) == 1


def test_usage_of_a_batch_is_recorded_on_the_skills_that_it_made(tmp_path: Path) -> None:
    with SkillStore(tmp_path / "a.sqlite") as store:
        view = store.apply([Create(A), Revise(A.id, B)], usage={B.id: Usage(called=1, helped=1)})
        assert view.skills[B.id].usage == Usage(called=1, helped=1)


def test_the_log_names_batch_bases_causes_reason_and_effect(tmp_path: Path) -> None:
    with SkillStore(tmp_path / "a.sqlite") as store:
        store.apply([Create(A, cause=("e1",)), Create(A)], batch=3)
        store.apply([Revise(A.id, B, cause=("e2", "e3"))], batch=4)
        store.apply([Retire(B.id, "failed twice", cause=("e4",))], batch=5)
        assert store.log() == [
            ChangeRecord(3, "create", A.id, (), ("e1",), "", True),
            ChangeRecord(3, "create", A.id, (), (), "", False),
            ChangeRecord(4, "revise", B.id, (A.id,), ("e2", "e3"), "", True),
            ChangeRecord(5, "retire", B.id, (B.id,), ("e4",), "failed twice", True),
        ]


def test_a_commit_saves_the_state_and_drops_only_its_own_journal(tmp_path: Path) -> None:
    with SkillStore(tmp_path / "a.sqlite") as store:
        assert (store.last_batch(), store.state(), store.journalled(0)) == (-1, None, {})
        store.journal(0, 2, {"z": 1, "a": [None, 1.5]})
        store.journal(0, 0, "first")
        store.journal(1, 0, "next batch")
        assert list(store.journalled(0).items()) == [(0, "first"), (2, {"z": 1, "a": [None, 1.5]})]
        view = store.commit(0, [Create(A)], {A.id: Usage(retrieved=1)}, {"weights": [0.1, 2]})
        assert view.skills[A.id].usage.retrieved == 1
        assert (store.last_batch(), store.state()) == (0, {"weights": [0.1, 2]})
        assert (store.journalled(0), store.journalled(1)) == ({}, {0: "next batch"})


def test_a_failed_commit_leaves_checkpoint_and_journal_as_they_were(tmp_path: Path) -> None:
    with SkillStore(tmp_path / "a.sqlite") as store:
        store.commit(0, [Create(A)], {}, "before")
        store.journal(1, 0, "kept")
        with pytest.raises(ChangeError):
            store.commit(1, [Create(B), Retire("nobody", "")], {}, "after")
        with pytest.raises(ValueError, match="batch 0 is not after batch 0"):
            store.commit(0, [Create(C)], {}, "again")
        assert (store.last_batch(), store.state()) == (0, "before")
        assert store.journalled(1) == {0: "kept"}
        assert list(store.view().skills) == [A.id]


def test_state_and_journal_keep_the_order_of_keys(tmp_path: Path) -> None:
    with SkillStore(tmp_path / "a.sqlite") as store:
        store.commit(0, [], {}, {"b": 1, "a": 2})
        state = store.state()
        assert isinstance(state, dict)
        assert list(state) == ["b", "a"]


def test_one_process_sees_at_once_what_another_committed(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with SkillStore(path) as one, SkillStore(path) as other:
        one.apply([Create(A)])
        assert list(other.view().skills) == [A.id]
        other.apply([Retire(A.id, "")])
        assert one.view().skills[A.id].status == "retired"
        one.apply([Create(B)])
        assert list(other.view().skills) == [A.id, B.id]


def test_processes_that_create_and_write_one_file_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    writers = [start(WRITER, str(path), str(name), "12") for name in range(4)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    with SkillStore(path) as store:
        assert len(store.view()) == 48
        causes = [record.cause for record in store.log()]
        assert all(causes.count((str(name),)) == 12 for name in range(4))
        assert list(store.journalled(7)) == [0, 1, 2, 3]


def test_a_process_killed_at_any_moment_leaves_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    for _ in range(4):
        victim = start(VICTIM, str(path))
        assert victim.stdout is not None
        reported = [int(victim.stdout.readline()) for _ in range(3)][-1]
        os.kill(victim.pid, signal.SIGKILL)
        victim.communicate()
        with SkillStore(path, create=False) as store:
            last = store.last_batch()
            assert last >= reported
            assert store.state() == {"batch": last}
            assert len(store.view()) == len(store.log()) == 3 * (last + 1)
            assert store.journalled(last) == {}


def test_equal_histories_leave_equal_rows(tmp_path: Path) -> None:
    dumps = []
    for name in ("one", "two"):
        with SkillStore(tmp_path / name) as store:
            store.journal(0, 0, "lost when committed")
            store.commit(0, [Create(A), Revise(A.id, B)], {B.id: Usage(retrieved=1)}, [1])
            store.journal(1, 0, "kept")
        with sqlite3.connect(tmp_path / name) as db:
            dumps.append(list(db.iterdump()))
        db.close()
    assert dumps[0] == dumps[1]


def test_a_missing_file_is_refused_where_none_may_be_made(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no skill library here"):
        SkillStore(tmp_path / "none.sqlite", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_kind_is_refused_and_not_touched(tmp_path: Path) -> None:
    text, database = tmp_path / "notes.txt", tmp_path / "other.sqlite"
    text.write_text("notes, not a database\n" * 100)
    with sqlite3.connect(database) as db:
        db.execute("CREATE TABLE skills (id TEXT)")
    db.close()
    for path in (text, database):
        before = path.read_bytes()
        with pytest.raises(UserError, match="is not a skill library"):
            SkillStore(path)
        assert path.read_bytes() == before


def test_a_library_of_another_schema_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    SkillStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(UserError, match="schema version 99"):
        SkillStore(path)


def test_a_damaged_file_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with SkillStore(path) as store:
        store.apply([Create(A)])
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    with pytest.raises(UserError, match="corrupt"), SkillStore(path) as store:
        store.view()


def test_a_record_that_is_no_skill_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    SkillStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO skills (id, record) VALUES ('x', '{\"id\": 3}')")
    db.close()
    with SkillStore(path) as store, pytest.raises(UserError, match="corrupt: skill: id is not"):
        store.view()
