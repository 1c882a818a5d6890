"""The reference page of events: subject, fields and units of each."""

from __future__ import annotations

import msgspec
from msgspec import inspect as types

from tidegate.contracts.documents.schema import (
    decisions,
    facts,
    field_comments,
    name_of,
    subject_of,
    summary,
    tag_of,
)
from tidegate.contracts.facts import Event

_UNITS = {
    "at_us": "µs, UTC",
    "created_us": "µs, UTC",
    "since_us": "µs, UTC",
    "after_us": "µs, UTC",
    "stored_us": "µs, UTC",
}
_SUFFIXES = {"_us": "µs", "_s": "s", "_milli": "1/1000", "_bytes": "bytes"}
_INTRO = """\
<!-- Made by `make generate` from tidegate/contracts: do not edit. -->
# Events

This page lists all event types of the ledger. A *fact* reports the outside, a *decision* records
what the scheduler chose. Folding all events gives the scheduler's state.

- The body is JSON. Its `type` is the name with its version, e.g. `QuotaReserved/1`; fields with
  their default value are left out. [schemas/events](schemas/events) has a JSON Schema for
  each, [asyncapi.yaml](asyncapi.yaml) describes all messages.
- The subject contains the event's type, queue and workload, for filters:
  `tidegate.*.event.WorkloadAdmitted.team-a.>` selects the admissions to the ClusterQueue `team-a`.
  Those of another partition than 0 begin with `tidegate.{cluster}.partition.{n}.event`.
  A dot in a name is written `%2E`, an empty name `_`.
- The header `ce-id` is `<ledger id>/<seq>`. `seq` has no gaps: a missing number is a missing event,
  which the ledger has.
- `workload` is `<namespace>/<name of the Workload>`. Amounts are integers in base units: milli-CPU
  for `cpu`, otherwise bytes, pods or devices.
- Every event has `at_us`, UTC microseconds by NATS' clock; it never decreases.
- Types only get new fields; the default of a new field is correct for older events.
"""


def events_page() -> str:
    """Return the page as Markdown."""
    parts = [_INTRO, "\n## Decisions\n", *map(_section, decisions())]
    return "".join([*parts, "\n## Facts\n", *map(_section, facts())])


def _section(event: type[Event]) -> str:
    comments = field_comments(event)
    rows = [
        f"| `{field.name}` | {_kind(field.type)} | {_unit(field.name)} |"
        f" {_cell(comments.get(field.name, ''))} |\n"
        for field in msgspec.structs.fields(event)
        if field.name != "at_us"
    ]
    head = (
        f"\n### {name_of(event)}\n\n{summary(event)}\n\n`{subject_of(event)}` · `{tag_of(event)}`\n"
    )
    if not rows:
        return head
    return head + "\n| field | type | unit | meaning |\n| --- | --- | --- | --- |\n" + "".join(rows)


def _unit(name: str) -> str:
    units = [unit for suffix, unit in _SUFFIXES.items() if name.endswith(suffix)]
    return _UNITS.get(name, units[0] if units else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _kind(hint: object) -> str:
    """Return a field's type in a reader's words: ``list of PodSet``, ``map of integer``."""
    return _type_text(types.type_info(hint))


def _type_text(kind: types.Type) -> str:
    match kind:
        case types.StructType(cls=cls):
            return cls.__name__
        case types.VarTupleType(item_type=item):
            return f"list of {_type_text(item)}"
        case types.DictType(value_type=value):
            return f"map of {_type_text(value)}"
        case types.LiteralType(values=values):
            return ", ".join(f"`{value}`" for value in values)
        case types.UnionType(types=parts):
            return " or ".join(
                _type_text(part) for part in parts if not isinstance(part, types.NoneType)
            )
        case _:
            return _SCALARS[type(kind)]


_SCALARS: dict[type[types.Type], str] = {
    types.StrType: "text",
    types.IntType: "integer",
    types.BoolType: "true or false",
}
