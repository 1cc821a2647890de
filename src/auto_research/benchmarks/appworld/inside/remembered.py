"""Lets AppWorld remember what it would work out anew for each world or verdict, always the same.

Each function changes one place of AppWorld, or of what it uses, in this process alone. What an
agent sees and what a verdict says stay as they are; only the time it takes becomes less.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any

_YOUNG = 100_000  # objects between two collections: some 10 MiB more, for a tenth of the time


def where_clocks_are() -> None:
    """Where some 1,700 modules hold functions of the clock, which freezing it puts others in for.

    Freezing it while it is frozen looks for none of them, so it is frozen here, once, on a day
    that nobody will see. Call it when all is imported.
    """
    from freezegun import freeze_time

    freeze_time("2000-01-01").start()


def the_server_of_the_apps() -> None:
    """The FastAPI application, which is built of the apps' routes for every world."""
    from appworld import requester

    requester.build_main_app = functools.cache(requester.build_main_app)


def validators() -> None:
    """The class that checks a new record, which each model makes when it is first used."""
    from appworld.apps import get_all_apps
    from appworld.common.utils import import_models_module

    for app in get_all_apps():
        for name, model in import_models_module(app).SQLModel.name_to_model().items():
            if name != "SQLModel" and model.is_table_model():
                model.validator()


def connections() -> Callable[[], None]:
    """What an engine connects to, which is asked some 500 times a verdict; returns what forgets.

    AppWorld keeps no such cache since it would never be emptied; whoever calls this must forget
    when the databases are done with. That also closes them, and does not connect to each once
    more for it, as AppWorld's own reset does.
    """
    from appworld.apps.model_lib import CachedDBHandler, Database

    known: dict[Any, Any] = {}
    details = Database._get_engine_to_details

    def remembered(engine: Any) -> Any:
        if engine not in known:
            known[engine] = details(engine)
        return known[engine]

    def forget() -> None:
        for engine, tracker in CachedDBHandler.cache.values():
            tracker.reset()
            engine.dispose()
        CachedDBHandler.cache = {}
        known.clear()

    Database._get_engine_to_details = staticmethod(remembered)
    return forget


def what_was_imported() -> None:
    """What is there by now is never garbage: the collector need not look it through again, and a
    forked process need not copy its pages. What comes later is looked through less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, 50, 100)
