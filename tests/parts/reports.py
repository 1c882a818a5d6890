"""Rows of a SQL report through the writer's engine."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Engine

from store.access.engine import select_records
from store.reading import reports


def rows(
    engine: Engine, name: str, within: reports.TimeRange | None = None
) -> list[dict[str, Any]]:
    return reports.report_rows(
        partial(select_records, engine), engine.dialect.name, name, within=within
    )
