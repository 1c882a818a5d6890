"""Jobs in YAML or CSV: a row for a job, or for a job that comes again and again.

Fields: ``name``, ``queue``, ``namespace``, ``at`` (a duration since the beginning, or a time),
``run``, ``count``, ``minCount``, ``priority``, ``priorityClass``, ``author``; ``repeat`` and
``every`` for jobs that come again. YAML has ``requests`` of one pod; in CSV every other column is
a resource.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tidegate.cli.times import parse_utc
from tidegate.errors import QuantityError, SettingsError, UndecodableError, reason_of
from tidegate.kinds.times import duration_us
from tidegate.model.quantity import amount
from tidegate.replay.simulator.loads import Job
from tidegate.service.config.yaml_documents import parse_yaml

FIELDS = (
    *("name", "queue", "namespace", "at", "run", "count", "minCount", "priority"),
    *("priorityClass", "author", "repeat", "every"),
)
REPEAT_MAX = 1_000_000
_SECOND_US = 1_000_000


def read_yaml(path: Path, begin_us: int) -> Iterator[Job]:
    """Yield the jobs of a YAML file: a list of mappings.

    Raises:
        SettingsError: a row cannot be read; the message says which and why.
    """
    rows, *others = parse_yaml(read_text(path), str(path)) or [None]
    if others or not isinstance(rows, list):
        raise SettingsError(f"{path} must be a list of jobs: - name: train, queue: main, …")
    for number, row in enumerate(rows, 1):
        where = f"{path}, job {number}"
        if not isinstance(row, dict):
            raise SettingsError(f"{where}: a mapping was expected, e.g. name: train.")
        requests = row.pop("requests", None) or {}
        if not isinstance(requests, dict):
            raise SettingsError(f"{where}: requests must map resources to quantities.")
        if unknown := sorted(map(str, set(row).difference(FIELDS))):
            raise SettingsError(
                f"{where}: unknown fields {', '.join(unknown)}; there are {', '.join(FIELDS)} "
                "and requests."
            )
        for name, value in row.items():
            if isinstance(value, dict | list | set):
                raise SettingsError(f"{where}: {name} must be one text or number.")
        yield from _jobs_of_row(where, row, requests, begin_us)


def read_csv(path: Path, begin_us: int) -> Iterator[Job]:
    """Yield the jobs of a CSV file with a heading; a column that is no field is a resource.

    Raises:
        SettingsError: a row cannot be read; the message says which line and why.
    """
    reader = csv.DictReader(read_text(path).splitlines())
    headings = reader.fieldnames or []
    if not {"name", "queue"} <= set(headings):
        raise SettingsError(f"{path}: its first line must name the columns name and queue.")
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        if None in row:
            raise SettingsError(f"{where}: it has more columns than the heading.")
        requests = {
            name: text for name, text in row.items() if name not in FIELDS and (text or "").strip()
        }
        yield from _jobs_of_row(where, row, requests, begin_us)


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises:
        SettingsError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {reason_of(error)}.") from error


def _jobs_of_row(
    where: str, row: Mapping[str, Any], requests: Mapping[str, Any], begin_us: int
) -> Iterator[Job]:
    fields = {name: _cell_text(value) for name, value in row.items() if value not in {None, ""}}
    repeat, every_us = (
        _parse_number(where, fields, "repeat", 1),
        _parse_duration(where, fields, "every") or 0,
    )
    if not fields.get("name") or not fields.get("queue"):
        raise SettingsError(f"{where}: name and queue must be given.")
    if not 0 < repeat <= REPEAT_MAX:
        raise SettingsError(f"{where}: repeat must be from 1 to {REPEAT_MAX}.")
    least = fields.get("minCount")
    count = _parse_number(where, fields, "count", 1)
    if count < 1:
        raise SettingsError(f"{where}: count must be at least 1.")
    for place in range(repeat):
        yield Job(
            name=fields["name"] if repeat == 1 else f"{fields['name']}-{place + 1}",
            queue=fields["queue"],
            namespace=fields.get("namespace", "default"),
            at_us=_parse_time(where, fields, begin_us) + place * every_us,
            run_us=_parse_duration(where, fields, "run"),
            count=count,
            min_count=None if least is None else _parse_number(where, fields, "minCount", 1),
            requests=_parse_requests(where, requests),
            priority_class=fields.get("priorityClass", ""),
            priority=_parse_number(where, fields, "priority", 0) if "priority" in fields else None,
            author=fields.get("author", ""),
        )


def _cell_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value).strip()


def _parse_requests(where: str, requests: Mapping[str, Any]) -> dict[str, str]:
    amounts = {str(name): str(value).strip() for name, value in requests.items()}
    for name, text in amounts.items():
        try:
            negative = amount(name, text) < 0
        except QuantityError as error:
            raise SettingsError(f"{where}: {name}: {error}") from error
        if negative:
            raise SettingsError(f"{where}: {name}: {text!r} is less than nothing.")
    return amounts


def _parse_number(where: str, row: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(row.get(name, default))
    except ValueError:
        raise SettingsError(f"{where}: {name} {row[name]!r} is not a whole number.") from None


def _parse_time(where: str, row: Mapping[str, str], begin_us: int) -> int:
    text = row.get("at", "0")
    try:
        return parse_utc(text) if "T" in text else begin_us + parse_seconds_or_duration(text)
    except (ValueError, UndecodableError):
        raise SettingsError(
            f"{where}: at {text!r} is neither a duration such as 1h30m nor a time such as "
            "2026-03-02T08:30:00Z."
        ) from None


def _parse_duration(where: str, row: Mapping[str, str], name: str) -> int | None:
    text = row.get(name)
    if text is None:
        return None
    try:
        return parse_seconds_or_duration(text)
    except UndecodableError:
        raise SettingsError(
            f"{where}: {name} {text!r} is not a duration such as 90s, 1h30m or 5400."
        ) from None


def parse_seconds_or_duration(text: str) -> int:
    """Return a duration in microseconds; a bare number is seconds.

    Raises:
        UndecodableError: it is none.
    """
    return int(text) * _SECOND_US if text.isdecimal() else duration_us(text)
