"""Tasks with money: what was paid, what is owed, and paying what is asked for."""

from __future__ import annotations

from random import Random

from auto_research.benchmarks.appworld.inside.mini import words
from auto_research.benchmarks.appworld.inside.mini.contact import CONTACTS
from auto_research.benchmarks.appworld.inside.mini.draft import (
    Change,
    Draft,
    Family,
    money,
    program,
)
from auto_research.benchmarks.appworld.inside.mini.plan import Person, World


def paid_to(world: World, person: Person, rng: Random) -> Draft:
    """How much was sent to somebody."""
    other = world.people[rng.choice(sorted({sent.other for sent in person.sent}))]
    return Draft(
        f"How many dollars have I sent to {other.name} ({other.email}) on Venmo in total?",
        program(
            'venmo = sign_in("venmo")\n'
            "rows = every(\n"
            "    apis.venmo.show_transactions,\n"
            "    user_email=$other,\n"
            '    direction="sent",\n'
            "    access_token=venmo,\n"
            ")\n"
            'total = sum(row["amount"] for row in rows)\n'
            "apis.supervisor.complete_task(answer=round(total, 2))\n",
            other=other.email,
        ),
        answer=money(sum(sent.amount for sent in person.sent if sent.other == other.index)),
    )


def approve(world: World, person: Person, rng: Random) -> Draft | None:
    """Pay what the contacts of a relationship have asked for."""
    relationship = rng.choice(words.RELATIONSHIPS)
    askers = person.related(relationship)
    wanted = [asked for asked in person.requests if asked.other in askers]
    if not wanted or len(wanted) == len(person.requests):
        return None
    return Draft(
        f"Approve all pending Venmo payment requests that I have received from a {relationship} in "
        "my phone's contacts. Pay from my Venmo balance.",
        program(
            CONTACTS + 'emails = {row["email"] for row in people}\n'
            'venmo = sign_in("venmo")\n'
            "rows = every(\n"
            "    apis.venmo.show_received_payment_requests,\n"
            '    status="pending",\n'
            "    access_token=venmo,\n"
            ")\n"
            "for row in rows:\n"
            '    if row["sender"]["email"] in emails:\n'
            "        apis.venmo.approve_payment_request(\n"
            '            payment_request_id=row["payment_request_id"], access_token=venmo\n'
            "        )\n"
            "apis.supervisor.complete_task()\n",
            relationship=relationship,
        ),
        changes=(
            Change(
                "venmo.PaymentRequest",
                "updated",
                [
                    {"amount": asked.amount, "description": asked.what, "denied_at": ""}
                    | {"sender.email": world.people[asked.other].email}
                    | {"receiver.email": person.email}
                    for asked in wanted
                ],
            ),
            Change(
                "venmo.Transaction",
                "added",
                [
                    {"amount": asked.amount, "receiver.email": world.people[asked.other].email}
                    | {"sender.email": person.email}
                    for asked in wanted
                ],
            ),
        ),
        side_effects=("venmo.User", "venmo.Notification"),
    )


def share(world: World, person: Person, rng: Random) -> Draft | None:
    """How much somebody has laid out for a group."""
    group = person.group
    if group is None:
        return None
    payer = world.people[rng.choice(sorted({payer for _, _, payer in group.expenses}))]
    who = "I have" if payer is person else f"{payer.name} has"
    return Draft(
        f"How many dollars is it in total that {who} paid for expenses of my Splitwise group "
        f"'{group.name}'?",
        program(
            'token = sign_in("splitwise")\n'
            "groups = apis.splitwise.show_groups(access_token=token, page_limit=100)\n"
            'group = next(row for row in groups if row["name"] == $group)\n'
            "rows = every(\n"
            "    apis.splitwise.show_group_expenses,\n"
            '    group_id=group["group_id"],\n'
            "    access_token=token,\n"
            ")\n"
            'paid = [row["paid_amount"] for row in rows if row["payer"]["email"] == $payer]\n'
            "apis.supervisor.complete_task(answer=round(sum(paid), 2))\n",
            group=group.name,
            payer=payer.email,
        ),
        answer=money(sum(amount for _, amount, by in group.expenses if by == payer.index)),
    )


FAMILIES = (
    Family("paid-to", 1, ("venmo",), paid_to),
    Family("approve", 3, ("phone", "venmo"), approve),
    Family("share", 2, ("splitwise",), share),
)
