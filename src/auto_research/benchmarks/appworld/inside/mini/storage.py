"""Tasks with files: adding up what they say, and clearing some away."""

from __future__ import annotations

from random import Random

from auto_research.benchmarks.appworld.inside.mini import words
from auto_research.benchmarks.appworld.inside.mini.draft import (
    Change,
    Draft,
    Family,
    money,
    program,
)
from auto_research.benchmarks.appworld.inside.mini.plan import Person, World

FILES = """
def files_in(folder, token):
    return apis.file_system.show_directory(
        directory_path=folder, entry_type="files", access_token=token
    )


token = sign_in("file_system")
"""


def budget(world: World, person: Person, rng: Random) -> Draft:
    """The sum, or the largest, of the amounts in the files of a folder."""
    word, chosen = rng.choice((("total of the amounts", sum), ("largest amount", max)))
    return Draft(
        f"Each file in ~/documents/budget of my file system holds one amount in dollars. What is "
        f"the {word}?",
        program(
            FILES + "amounts = []\n"
            'for path in files_in("~/documents/budget", token):\n'
            "    shown = apis.file_system.show_file(file_path=path, access_token=token)\n"
            '    amounts.append(float(shown["content"].split("$")[1]))\n'
            f"apis.supervisor.complete_task(answer={chosen.__name__}(amounts))\n",
        ),
        answer=money(chosen(person.budget.values())),
    )


def clear(world: World, person: Person, rng: Random) -> Draft | None:
    """Delete the files of one ending from a folder."""
    ending = rng.choice(words.ENDINGS)
    names = [name for name in person.downloads if name.endswith(ending)]
    if not 0 < len(names) < len(person.downloads):
        return None
    return Draft(
        f"Delete all files that end in {ending} from ~/downloads in my file system. How many files "
        "are left there?",
        program(
            FILES + 'for path in files_in("~/downloads", token):\n'
            "    if path.endswith($ending):\n"
            "        apis.file_system.delete_file(file_path=path, access_token=token)\n"
            'apis.supervisor.complete_task(answer=len(files_in("~/downloads", token)))\n',
            ending=ending,
        ),
        answer=len(person.downloads) - len(names),
        changes=(
            Change(
                "file_system.File",
                "removed",
                [
                    {"tilde_path": f"~/downloads/{name}", "user.email": person.email}
                    for name in names
                ],
            ),
        ),
        side_effects=("file_system.Directory",),
    )


FAMILIES = (
    Family("budget", 2, ("file_system",), budget),
    Family("clear", 2, ("file_system",), clear),
)
