"""Tasks with notes and todo projects: counting, ticking off, carrying from one to the other."""

from __future__ import annotations

from random import Random

from auto_research.benchmarks.appworld.inside.mini.draft import Change, Draft, Family, program
from auto_research.benchmarks.appworld.inside.mini.plan import Person, World, checklist

NOTE = """
def note_titled(title, token):
    rows = every(apis.simple_note.search_notes, query=title, access_token=token)
    found = next(row for row in rows if row["title"] == title)
    return apis.simple_note.show_note(note_id=found["note_id"], access_token=token)


token = sign_in("simple_note")
note = note_titled($title, token)
lines = note["content"].splitlines()
"""
PROJECT = """
def project_named(name, token):
    rows = apis.todoist.show_projects(access_token=token, page_limit=100)
    return next(row for row in rows if row["name"] == name)


def tasks_of(project, token):
    shown = apis.todoist.show_tasks(project_id=project["project_id"], access_token=token)
    return shown["no_section_tasks"] + [t for part in shown["sections"] for t in part["tasks"]]


todo = sign_in("todoist")
project = project_named($project, todo)
"""


def count_open(world: World, person: Person, rng: Random) -> Draft:
    """How many items of a check list are done, or still open."""
    done = rng.random() < 0.5
    mark = "[x]" if done else "[ ]"
    word = "ticked off already" if done else "not ticked off yet"
    return Draft(
        f"How many items of my Simple Note '{person.checklist_title}' are {word}?",
        program(
            NOTE + "count = sum(line.startswith($mark) for line in lines)\n"
            "apis.supervisor.complete_task(answer=count)\n",
            title=person.checklist_title,
            mark=mark,
        ),
        answer=sum(state == done for state in person.checklist.values()),
    )


def tick_off(world: World, person: Person, rng: Random) -> Draft | None:
    """Tick two items of a check list."""
    waiting = [item for item, state in person.checklist.items() if not state]
    if len(waiting) < 2:
        return None
    chosen = rng.sample(waiting, 2)
    after = {item: state or item in chosen for item, state in person.checklist.items()}
    title = person.checklist_title
    return Draft(
        f"In my Simple Note '{title}', tick off '{chosen[0]}' and '{chosen[1]}'. Leave the rest of "
        "the note as it is.",
        program(
            NOTE + "for item in $chosen:\n"
            '    lines = [line.replace("[ ]", "[x]") if line[4:] == item else line '
            "for line in lines]\n"
            "apis.simple_note.update_note(\n"
            '    note_id=note["note_id"], content="\\n".join(lines), access_token=token\n'
            ")\n"
            "apis.supervisor.complete_task()\n",
            title=title,
            chosen=chosen,
        ),
        changes=(
            Change(
                "simple_note.Note",
                "updated",
                [{"title": title, "content": checklist(after), "user.email": person.email}],
            ),
        ),
    )


def count_tasks(world: World, person: Person, rng: Random) -> Draft:
    """How many open tasks of a priority a project has."""
    name, priority = rng.choice(sorted(person.projects)), rng.choice(("high", "medium", "low"))
    items = person.projects[name]
    return Draft(
        f"How many tasks of {priority} priority are still open in my Todoist project '{name}'?",
        program(
            PROJECT + "left = [\n"
            "    task\n"
            "    for task in tasks_of(project, todo)\n"
            '    if task["priority"] == $priority and not task["is_completed"]\n'
            "]\n"
            "apis.supervisor.complete_task(answer=len(left))\n",
            project=name,
            priority=priority,
        ),
        answer=sum(item.priority == priority and not item.done for item in items),
    )


def finish_tasks(world: World, person: Person, rng: Random) -> Draft | None:
    """Complete all open tasks of a priority in a project."""
    name, priority = rng.choice(sorted(person.projects)), rng.choice(("high", "medium", "low"))
    left = [i for i in person.projects[name] if i.priority == priority and not i.done]
    if not left:
        return None
    return Draft(
        f"Mark all {priority} priority tasks of my Todoist project '{name}' as completed.",
        program(
            PROJECT + "for task in tasks_of(project, todo):\n"
            '    if task["priority"] == $priority and not task["is_completed"]:\n'
            "        apis.todoist.update_task(\n"
            '            task_id=task["task_id"], is_completed=True, access_token=todo\n'
            "        )\n"
            "apis.supervisor.complete_task()\n",
            project=name,
            priority=priority,
        ),
        changes=(
            Change(
                "todoist.Task",
                "updated",
                [
                    {"title": i.title, "project.name": name, "is_completed": True}
                    | {"priority": priority, "project.user.email": person.email}
                    for i in left
                ],
            ),
        ),
    )


def note_to_project(world: World, person: Person, rng: Random) -> Draft | None:
    """Add what is open on a check list to a project, as tasks of a priority."""
    name, priority = rng.choice(sorted(person.projects)), rng.choice(("high", "low"))
    known = {item.title for item in person.projects[name]}
    waiting = [item for item, done in person.checklist.items() if not done]
    wanted = [item for item in waiting if item not in known]
    if not wanted or len(wanted) == len(waiting):
        return None
    title = person.checklist_title
    return Draft(
        f"Add every item that is not ticked off in my Simple Note '{title}' as a task of "
        f"{priority} priority to my Todoist project '{name}', unless it has a task of that title "
        "already. How many did you add?",
        program(
            NOTE + PROJECT + 'known = {task["title"] for task in tasks_of(project, todo)}\n'
            'items = [line[4:] for line in lines if line.startswith("[ ]")]\n'
            "wanted = [item for item in items if item not in known]\n"
            "for item in wanted:\n"
            "    apis.todoist.create_task(\n"
            '        project_id=project["project_id"],\n'
            "        title=item,\n"
            "        priority=$priority,\n"
            "        access_token=todo,\n"
            "    )\n"
            "apis.supervisor.complete_task(answer=len(wanted))\n",
            title=title,
            project=name,
            priority=priority,
        ),
        answer=len(wanted),
        changes=(
            Change(
                "todoist.Task",
                "added",
                [
                    {"title": item, "project.name": name, "priority": priority}
                    | {"is_completed": False, "project.user.email": person.email}
                    for item in wanted
                ],
            ),
        ),
    )


FAMILIES = (
    Family("count-open", 1, ("simple_note",), count_open),
    Family("tick-off", 2, ("simple_note",), tick_off),
    Family("count-tasks", 1, ("todoist",), count_tasks),
    Family("finish-tasks", 2, ("todoist",), finish_tasks),
    Family("note-to-project", 3, ("simple_note", "todoist"), note_to_project),
)
