"""The world on paper: who the people are and what their apps hold, drawn from a seed.

Answers are worked out from this plan, never by asking the apps, so that a reference program that
asks the apps is checked by something that does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from auto_research.benchmarks.appworld.inside.mini import words

APPS = (
    *("amazon", "phone", "file_system", "spotify", "venmo", "gmail", "splitwise"),
    *("simple_note", "todoist"),
)  # that a person has an account in
NOW = "2024-03-14T10:00:00"


@dataclass(frozen=True)
class Song:
    """`number` counts from 1, as the app's ids do; `duration` is in seconds."""

    number: int
    title: str
    artist: str
    genre: str
    duration: int
    year: int
    plays: int


@dataclass(frozen=True)
class Product:
    number: int
    name: str
    kind: str
    price: float


@dataclass(frozen=True)
class Money:
    """An amount that `other` (a person's index) is concerned with."""

    other: int
    amount: float
    what: str


@dataclass(frozen=True)
class Mail:
    sender: int
    subject: str
    body: str
    amount: float = 0.0  # of an invoice


@dataclass(frozen=True)
class Item:
    """A task of a todo project."""

    title: str
    priority: str
    done: bool


@dataclass(frozen=True)
class Group:
    """A group that shares costs; `expenses` are (what, amount, payer), shared by all equally."""

    name: str
    members: tuple[int, ...]
    expenses: tuple[tuple[str, float, int], ...]


@dataclass
class Person:
    """One person and what is theirs. People are named by index."""

    index: int
    first_name: str
    last_name: str
    sex: str
    phone_number: str
    birthday: str
    passwords: dict[str, str]
    library: list[Song] = field(default_factory=list)
    liked: list[Song] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    checklist: dict[str, bool] = field(default_factory=dict)
    checklist_title: str = ""
    contacts: dict[int, str] = field(default_factory=dict)  # person: relationship
    alarms: dict[str, int] = field(default_factory=dict)  # label: minutes since midnight
    mail: list[Mail] = field(default_factory=list)  # received
    requests: list[Money] = field(default_factory=list)  # asked of this person, pending
    sent: list[Money] = field(default_factory=list)
    projects: dict[str, list[Item]] = field(default_factory=dict)
    group: Group | None = None
    budget: dict[str, float] = field(default_factory=dict)  # file name: amount in it
    downloads: list[str] = field(default_factory=list)
    wishes: list[tuple[Product, int]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}"

    @property
    def email(self) -> str:
        return f"{self.first_name}.{self.last_name}@gmail.com".lower()

    def related(self, relationship: str) -> list[int]:
        """The contacts of one relationship."""
        return sorted(i for i, known in self.contacts.items() if known == relationship)


@dataclass
class World:
    """Everybody and everything."""

    people: list[Person]
    songs: list[Song]
    products: list[Product]


def make_world(seed: int) -> World:
    """The world of a seed."""
    rng = Random(f"{seed}/world")
    world = World([], _songs(rng), _products())
    for index, (first, last, sex) in enumerate(words.PEOPLE):
        world.people.append(
            Person(
                index=index,
                first_name=first,
                last_name=last,
                sex=sex,
                phone_number=f"555{rng.randrange(10**7):07d}",
                birthday=f"{rng.randrange(1960, 2004)}-{rng.randrange(1, 13):02d}-11",
                passwords={app: _password(rng) for app in APPS},
            )
        )
    for person in world.people:
        _furnish(person, world, Random(f"{seed}/{person.index}"))
    return world


def _furnish(person: Person, world: World, rng: Random) -> None:
    others = [p.index for p in world.people if p is not person]
    person.library = sorted(rng.sample(world.songs, rng.randrange(14, 22)), key=lambda s: s.number)
    person.liked = sorted(rng.sample(person.library, 5), key=lambda s: s.number)
    person.checklist_title = rng.choice(words.LISTS)
    errands = rng.sample(words.ERRANDS, 8)
    person.checklist = {errand: rng.random() < 0.4 for errand in errands}
    person.notes = {
        person.checklist_title: checklist(person.checklist),
        "Wifi": f"The password is {_password(rng)}.",
        "To do soon": "\n".join(rng.sample(words.ERRANDS, rng.randrange(3, 6))),
    }
    known = rng.sample(others, 8)
    person.contacts = {i: words.RELATIONSHIPS[n % 4] for n, i in enumerate(known)}
    hours = rng.sample(range(5, 22), len(words.ALARMS))
    person.alarms = {
        label: 60 * hour + rng.choice((0, 10, 20, 30))
        for label, hour in zip(words.ALARMS, hours, strict=True)
    }
    person.mail = _mail(rng, known)
    debts = rng.sample(words.PAYMENTS, 6)
    person.requests = [Money(i, _amount(rng), w) for i, w in zip(known[:6], debts, strict=True)]
    person.sent = [
        Money(rng.choice(known[:3]), _amount(rng), what) for what in rng.sample(words.PAYMENTS, 7)
    ]
    person.projects = {
        name: [
            Item(title, rng.choice(("high", "medium", "low")), rng.random() < 0.3)
            for title in rng.sample(words.ERRANDS, rng.randrange(5, 9))
        ]
        for name in rng.sample(words.PROJECTS, 2)
    }
    members = (person.index, *rng.sample(known, 2))
    person.group = Group(
        f"{rng.choice(words.GROUPS)} of {person.first_name}",
        members,
        tuple(
            (what, float(3 * rng.randrange(5, 40)), rng.choice(members))
            for what in rng.sample(words.PAYMENTS, 5)
        ),
    )
    person.budget = {name: float(rng.randrange(20, 900)) for name in rng.sample(words.BUDGETS, 4)}
    person.downloads = [f"{n}{rng.choice(words.ENDINGS)}" for n in words.DOWNLOADS]
    person.wishes = [(p, rng.randrange(1, 4)) for p in rng.sample(world.products, 6)]


def checklist(items: dict[str, bool]) -> str:
    """A check list as the notes hold it."""
    return "\n".join(f"[{'x' if done else ' '}] {item}" for item, done in items.items())


def clock(minutes: int) -> str:
    """Minutes since midnight as hh:mm."""
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _songs(rng: Random) -> list[Song]:
    titles = [f"{adjective} {thing}" for adjective in words.ADJECTIVES for thing in words.THINGS]
    rng.shuffle(titles)
    durations = rng.sample(range(120, 420), len(titles))  # no two alike: superlatives are unique
    plays = rng.sample(range(100, 9000), len(titles))
    return [
        Song(
            number=number,
            title=title,
            artist=rng.choice(words.ARTISTS),
            genre=rng.choice(words.GENRES),
            duration=durations[number - 1],
            year=rng.randrange(2010, 2024),
            plays=plays[number - 1],
        )
        for number, title in enumerate(titles, start=1)
    ]


def _products() -> list[Product]:
    return [Product(n, *goods) for n, goods in enumerate(words.GOODS, start=1)]


def _mail(rng: Random, known: Sequence[int]) -> list[Mail]:
    invoices = []
    for number, job in enumerate(rng.sample(words.JOBS, 5), start=1):
        amount = _amount(rng)
        invoices.append(
            Mail(
                sender=rng.choice(known[:2]),
                subject=f"Invoice {number}: {job}",
                body=f"Hello,\nthe amount due for {job} is ${amount:.2f}.\nBest wishes",
                amount=amount,
            )
        )
    chatter = [
        Mail(rng.choice(known[:4]), subject, "Let me know what you think.")
        for subject in rng.sample(words.CHATTER, 3)
    ]
    mail = [*invoices, *chatter]
    rng.shuffle(mail)
    return mail


def _amount(rng: Random) -> float:
    return rng.randrange(200, 9000) / 100


def _password(rng: Random) -> str:
    return "".join(rng.choices("abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=10))
