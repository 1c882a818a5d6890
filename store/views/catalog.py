"""The definitions of all SQL reports, in an order in which each can be made.

Only ``make generate`` and tests read them: databases are given the texts that are made of them.
"""

from __future__ import annotations

import json
from types import ModuleType

from sqlalchemy import Dialect
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.engine.default import DefaultDialect

from store.views.columns import View
from store.views.history import preemptions, queue_history, wait_summary, waits
from store.views.now import admitted_now, queue_now, queues, quota_now
from store.views.usage import (
    budgets,
    chargeback,
    holdings,
    prices,
    quota_history,
    quota_hourly,
    usage_hourly,
)

_MODULES: tuple[ModuleType, ...] = (
    quota_now,
    quota_history,
    queues,
    queue_history,
    queue_now,
    admitted_now,
    holdings,
    usage_hourly,
    quota_hourly,
    waits,
    wait_summary,  # over waits
    preemptions,
    prices,
    chargeback,
    budgets,
)


def _view(module: ModuleType) -> View:
    about = " ".join((module.__doc__ or "").split("\n\n")[0].split())
    other, sums = getattr(module, "POSTGRESQL", None), getattr(module, "SUMS", ())
    name = module.__name__.rpartition(".")[2]
    return View(name, about, module.COLUMNS, module.QUERY, other, sums)


VIEWS = {view.name: view for view in map(_view, _MODULES)}


def compiled(view: View, dialect: Dialect) -> str:
    """Return the view's query as SQLAlchemy writes it for one dialect."""
    assert isinstance(dialect, DefaultDialect)
    plain = type(dialect)(paramstyle="named")  # else a % would be doubled for the driver
    other = view.postgresql if dialect.name == "postgresql" else None
    query = view.query if other is None else other
    return str(query.compile(dialect=plain, compile_kwargs={"literal_binds": True}))


def text_of_all() -> str:
    """Return ``view_texts.json``: what readers know of the reports without SQLAlchemy."""
    dialects: tuple[Dialect, ...] = (SQLiteDialect(), PGDialect())  # type: ignore[no-untyped-call]
    documents = [
        {
            "name": view.name,
            "about": view.about,
            "columns": [column.name for column in view.columns],
            "sums": view.sums,
            "sql": {dialect.name: compiled(view, dialect) for dialect in dialects},
        }
        for view in VIEWS.values()
    ]
    return json.dumps(documents, indent=1, ensure_ascii=False) + "\n"
