"""Rows of a SQL report through the writer's engine."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Engine

from store.access.engine import records
from store.reading import reports


def rows(engine: Engine, name: str, within: reports.Within | None = None) -> list[dict[str, Any]]:
    return reports.rows(partial(records, engine), engine.dialect.name, name, within=within)
