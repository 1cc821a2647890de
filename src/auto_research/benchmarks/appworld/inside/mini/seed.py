"""Put the world into AppWorld's databases: through the apps' own calls wherever they have one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from auto_research.benchmarks.appworld.inside.mini import words
from auto_research.benchmarks.appworld.inside.mini.plan import APPS, NOW, Person, World, clock

MEMORY = ":memory:base"


def write_base(data: Path, world: World) -> None:
    """Write ``data/api_docs`` and ``data/base_dbs``."""
    from appworld.apps import get_all_apps
    from appworld.apps.api_lib import set_local_date_and_time
    from appworld.apps.model_lib import CachedDBHandler
    from appworld.collections.models import ModelCollection
    from appworld.common.datetime import DateTime

    apps = list(get_all_apps())
    documented = _write_docs(data, [app for app in apps if app != "admin"])
    now = DateTime.fromisoformat(NOW)
    freezer = set_local_date_and_time(now)
    models = ModelCollection.load(to_db_home_path=MEMORY, load_apps=apps, create_db=True)
    for row in documented:
        models.api_docs.ApiDoc(**row).save()
    _open_accounts(models, world, now)
    _fill_catalogs(models, world, now)
    freezer.stop()
    _live(world, apps, now)
    models.save(str(data / "base_dbs"), format="full", app_names=apps, delete_if_exists=True)
    CachedDBHandler.reset()


def _write_docs(data: Path, apps: list[str]) -> Iterator[dict[str, Any]]:
    """Write the documentation of the installed apps; returns it as rows of its own database."""
    from appworld.collections.api_docs import ApiDocCollection
    from appworld.common.constants import CANARY_STRING

    docs = ApiDocCollection.build(load_apps=tuple(apps), include_response_schemas=True)
    folder = data / "api_docs" / "standard"
    folder.mkdir(parents=True)
    rows = []
    for app, described in docs.items():
        entries = {
            name: {**dict(d), "canary_string": CANARY_STRING} for name, d in described.items()
        }
        (folder / f"{app}.json").write_text(json.dumps(entries))
        for name, told in described.items():
            rows.append(
                {
                    "app_name_": app,
                    "api_name": name,
                    **{key: told[key] for key in ("path", "method", "description")},
                    "parameters": [dict(parameter) for parameter in told["parameters"]],
                    "response_schemas": dict(told["response_schemas"]),
                }
            )
    return iter(rows)


def _open_accounts(models: Any, world: World, now: Any) -> None:
    for person in world.people:
        own = {
            "first_name": person.first_name,
            "last_name": person.last_name,
            "email": person.email,
            "phone_number": person.phone_number,
            "birthday": person.birthday,
            "sex": person.sex,
        }
        models.admin.MainUser(**own).save()
        for app in APPS:
            user = models[app].User
            fields: dict[str, Any] = {key: own[key] for key in own if key in user.__fields__}
            if app == "venmo":
                fields["venmo_balance"] = 2000.0
            user(
                **fields,
                password=person.passwords[app],
                verified=True,
                created_at=now.subtract(days=300),
                last_logged_in=now.subtract(days=3),
            ).save()


def _fill_catalogs(models: Any, world: World, now: Any) -> None:
    """What no user makes: songs and goods; and the songs that people have."""
    artists = {}
    for name in words.ARTISTS:
        artists[name] = models.spotify.Artist(name=name, genre=words.GENRES[0])
        artists[name].save()
    for song in world.songs:
        models.spotify.Song(
            title=song.title,
            artist_ids=[artists[song.artist].id],
            duration=song.duration,
            release_date=now.set(year=song.year),
            genre=song.genre,
            play_count=song.plays,
        ).save()
    for user, person in zip(models.spotify.User.all(), world.people, strict=True):
        models.spotify.MusicPlayer(user_id=user.id).save()
        for song in person.library:
            models.spotify.UserLibrarySong(user_id=user.id, song_id=song.number).save()
    seller = models.amazon.Seller(name="Corner Store", rating=4.5)
    seller.save()
    for product in world.products:
        models.amazon.Product(
            product_type=product.kind,
            name=product.name,
            description=f"{product.name}, for your {product.kind}.",
            seller_id=seller.id,
            price=product.price,
            delivery_days=3,
            inventory_quantity=90,
            weight=1.0,
            length=5.0,
            width=5.0,
            height=5.0,
            rating=4.0,
            seller_rating=4.5,
        ).save()


def _live(world: World, apps: list[str], now: Any) -> None:
    """Let everybody do, in the apps, what they have done by now."""
    from appworld.collections.apis import ApiCollection

    apis, _ = ApiCollection.load(
        to_db_home_path=MEMORY,
        from_db_home_path=MEMORY,
        date_and_time=now,
        load_apps=apps,
        max_num_requests=10**6,
    )
    tokens = [{app: _sign_in(apis, person, app) for app in APPS} for person in world.people]
    for person, mine in zip(world.people, tokens, strict=True):
        _belongings(apis, person, mine)
        _contacts(apis, world, person, mine)
        for mail in person.mail:
            apis.gmail.send_email(
                email_addresses=[person.email],
                subject=mail.subject,
                body=mail.body,
                access_token=tokens[mail.sender]["gmail"],
            )
        for asked in person.requests:
            apis.venmo.create_payment_request(
                user_email=person.email,
                amount=asked.amount,
                description=asked.what,
                access_token=tokens[asked.other]["venmo"],
            )
    apis.close()


def _sign_in(apis: Any, person: Person, app: str) -> str:
    user = person.phone_number if app == "phone" else person.email
    answer = apis[app].login(username=user, password=person.passwords[app])
    return str(answer["access_token"])


def _belongings(apis: Any, person: Person, mine: dict[str, str]) -> None:
    for song in person.liked:
        apis.spotify.like_song(song_id=song.number, access_token=mine["spotify"])
    for title, content in person.notes.items():
        apis.simple_note.create_note(title=title, content=content, access_token=mine["simple_note"])
    for label, minutes in person.alarms.items():
        apis.phone.create_alarm(
            time=clock(minutes), repeat_days=[], label=label, access_token=mine["phone"]
        )
    for name, items in person.projects.items():
        made = apis.todoist.create_project(name=name, access_token=mine["todoist"])
        for item in items:
            task = apis.todoist.create_task(
                project_id=made["project_id"],
                title=item.title,
                priority=item.priority,
                access_token=mine["todoist"],
            )
            if item.done:
                apis.todoist.update_task(
                    task_id=task["task_id"], is_completed=True, access_token=mine["todoist"]
                )
    files = {f"~/documents/budget/{n}.txt": f"{n}: ${a:.2f}" for n, a in person.budget.items()}
    files |= {f"~/downloads/{name}": f"The file {name}." for name in person.downloads}
    for folder in ("~/documents/budget", "~/downloads"):
        apis.file_system.create_directory(
            directory_path=folder, recursive=True, access_token=mine["file_system"]
        )
    for path, content in files.items():
        apis.file_system.create_file(
            file_path=path, content=content, access_token=mine["file_system"]
        )
    for product, count in person.wishes:
        apis.amazon.add_product_to_wish_list(
            product_id=product.number, quantity=count, access_token=mine["amazon"]
        )


def _contacts(apis: Any, world: World, person: Person, mine: dict[str, str]) -> None:
    for index, relationship in person.contacts.items():
        other = world.people[index]
        apis.phone.add_contact(
            first_name=other.first_name,
            last_name=other.last_name,
            phone_number=other.phone_number,
            email=other.email,
            relationships=[relationship],
            access_token=mine["phone"],
        )
    for sent in person.sent:
        apis.venmo.create_transaction(
            receiver_email=world.people[sent.other].email,
            amount=sent.amount,
            description=sent.what,
            access_token=mine["venmo"],
        )
    if person.group:
        emails = [world.people[i].email for i in person.group.members]
        made = apis.splitwise.create_group(
            name=person.group.name, member_emails=emails[1:], access_token=mine["splitwise"]
        )
        for what, amount, payer in person.group.expenses:
            apis.splitwise.record_expense(
                description=what,
                paid_amount=amount,
                payer_email=world.people[payer].email,
                debtor_emails=emails,
                group_id=made["group_id"],
                access_token=mine["splitwise"],
            )
