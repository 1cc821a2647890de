"""Tasks with the phone and with mail: numbers, messages to many, alarms, invoices, stars."""

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
from auto_research.benchmarks.appworld.inside.mini.plan import Person, World, clock

CONTACTS = """
phone = sign_in("phone")
people = every(apis.phone.search_contacts, relationship=$relationship, access_token=phone)
"""
THREADS = """
mail = sign_in("gmail")
threads = every(apis.gmail.show_inbox_threads, from_email=$sender, access_token=mail)
"""


def number_of(world: World, person: Person, rng: Random) -> Draft:
    """The phone number of a contact named by first name."""
    other = world.people[rng.choice(sorted(person.contacts))]
    return Draft(
        f"What is the phone number of {other.first_name}, who is in my phone's contacts?",
        program(
            'phone = sign_in("phone")\n'
            "rows = every(apis.phone.search_contacts, query=$name, access_token=phone)\n"
            'found = next(row for row in rows if row["first_name"] == $name)\n'
            'apis.supervisor.complete_task(answer=found["phone_number"])\n',
            name=other.first_name,
        ),
        answer=other.phone_number,
    )


def text_all(world: World, person: Person, rng: Random) -> Draft:
    """A text message to all contacts of a relationship."""
    relationship = rng.choice(words.RELATIONSHIPS)
    message = f"{rng.choice(words.GROUPS)} is off, sorry!"
    targets = [world.people[i] for i in person.related(relationship)]
    return Draft(
        f"Send the text message '{message}' from my phone to each {relationship} in my contacts.",
        program(
            CONTACTS + "for row in people:\n"
            "    apis.phone.send_text_message(\n"
            '        phone_number=row["phone_number"], message=$message, access_token=phone\n'
            "    )\n"
            "apis.supervisor.complete_task()\n",
            relationship=relationship,
            message=message,
        ),
        changes=(
            Change(
                "phone.GlobalTextMessage",
                "added",
                [
                    {"message": message, "receiver.phone_number": other.phone_number}
                    | {"sender.phone_number": person.phone_number}
                    for other in targets
                ],
            ),
        ),
        side_effects=("phone.UserTextMessage",),
    )


def move_alarm(world: World, person: Person, rng: Random) -> Draft:
    """An alarm some minutes earlier or later."""
    label, step = rng.choice(words.ALARMS), rng.choice((-25, -15, 5, 20, 45))
    word = "earlier" if step < 0 else "later"
    return Draft(
        f"Move my phone's alarm labelled '{label}' {abs(step)} minutes {word}. To what time, as "
        "hh:mm, is it set then?",
        program(
            'phone = sign_in("phone")\n'
            "rows = every(apis.phone.show_alarms, access_token=phone)\n"
            'alarm = next(row for row in rows if row["label"] == $label)\n'
            'hours, minutes = map(int, alarm["time"].split(":"))\n'
            "total = 60 * hours + minutes + $step\n"
            'time = f"{total // 60:02d}:{total % 60:02d}"\n'
            "apis.phone.update_alarm(\n"
            '    alarm_id=alarm["alarm_id"], time=time, access_token=phone\n'
            ")\n"
            "apis.supervisor.complete_task(answer=time)\n",
            label=label,
            step=step,
        ),
        answer=clock(person.alarms[label] + step),
        changes=(
            Change(
                "phone.Alarm",
                "updated",
                [
                    {"label": label, "time": clock(person.alarms[label] + step)}
                    | {"user.phone_number": person.phone_number}
                ],
            ),
        ),
    )


def invoices(world: World, person: Person, rng: Random) -> Draft | None:
    """The sum of the invoices that somebody has mailed."""
    sender = world.people[rng.choice([mail.sender for mail in person.mail])]
    sums = [mail.amount for mail in person.mail if mail.sender == sender.index and mail.amount]
    if not sums:
        return None
    return Draft(
        f"How much do the invoices that {sender.name} ({sender.email}) has sent to my Gmail come "
        "to in total, in dollars? Their subjects begin with 'Invoice'.",
        program(
            THREADS + "total = 0\n"
            "for row in threads:\n"
            "    thread = apis.gmail.show_thread(\n"
            '        email_thread_id=row["email_thread_id"], access_token=mail\n'
            "    )\n"
            '    for email in thread["emails"]:\n'
            '        if email["subject"].startswith("Invoice"):\n'
            '            total += float(re.search(r"\\$([0-9.]+[0-9])", email["body"])[1])\n'
            "apis.supervisor.complete_task(answer=round(total, 2))\n",
            sender=sender.email,
        ),
        answer=money(sum(sums)),
    )


def star(world: World, person: Person, rng: Random) -> Draft:
    """Star all that somebody has mailed."""
    sender = world.people[rng.choice([mail.sender for mail in person.mail])]
    subjects = [mail.subject for mail in person.mail if mail.sender == sender.index]
    return Draft(
        f"Star every email thread that {sender.name} ({sender.email}) has started in my Gmail "
        "inbox.",
        program(
            THREADS + "for row in threads:\n"
            "    apis.gmail.mark_thread_starred(\n"
            '        email_thread_id=row["email_thread_id"], access_token=mail\n'
            "    )\n"
            "apis.supervisor.complete_task()\n",
            sender=sender.email,
        ),
        changes=(
            Change(
                "gmail.UserEmailThread",
                "updated",
                [{"starred": True, "user.email": person.email} for _ in subjects],
            ),
        ),
    )


FAMILIES = (
    Family("number-of", 1, ("phone",), number_of),
    Family("text-all", 2, ("phone",), text_all),
    Family("move-alarm", 2, ("phone",), move_alarm),
    Family("invoices", 2, ("gmail",), invoices),
    Family("star", 1, ("gmail",), star),
)
