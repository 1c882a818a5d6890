"""A reader's position in all partitions that are served, as clients write it and get it.

Of one partition that is a seq, ``41``; of several each partition with its own, ``0=41,1=7``, as
``subscribe`` takes it. Where one number is asked for, it is how many events that are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import TypeAlias

import typer

from tidegate.cli.ledger.reading import Reader, reader_as_of
from tidegate.contracts.entry import Entry
from tidegate.model.texts import parse_whole
from tidegate.serve.refusals import RefusalError

Ends: TypeAlias = Mapping[int, int]
"""Partition to the seq of the newest event that is included; in the order of partitions."""
_ENDS = re.compile(r"\d{1,3}=\d{1,19}(,\d{1,3}=\d{1,19})*", re.ASCII)
_EVENT = re.compile(r"(\d{1,3})/(\d{1,19})", re.ASCII)


def position_text(ends: Ends) -> str:
    """Return a position as clients get it."""
    if len(ends) == 1:
        return str(event_count(ends))
    return ",".join(f"{partition}={seq}" for partition, seq in ends.items())


def event_count(ends: Ends) -> int:
    """Return how many events a position includes: of one partition its seq."""
    return sum(ends.values())


def parse_position(text: str, partitions: Collection[int]) -> dict[int, int] | None:
    """Return a position that a client gave, of the partitions that are served; None: it is none.

    A partition that it does not name is read from its first event on. A number alone is of the
    first partition, since a client may have got it when there were no others.
    """
    first = min(partitions, default=0)
    if (seq := parse_whole(text)) is not None:
        return {partition: seq if partition == first else 0 for partition in partitions}
    if _ENDS.fullmatch(text) is None:
        return None
    named = dict[int, int]()
    for pair in text.split(","):
        partition, _, end = pair.partition("=")
        if (seq := parse_whole(end)) is None:
            return None  # no database compares so large a number
        named[int(partition)] = seq
    return {partition: named.get(partition, 0) for partition in partitions}


def advance(ends: dict[int, int], entry: Entry) -> str:
    """Move a position on to an event, and return it as clients get it."""
    ends[entry.partition] = entry.seq
    return position_text(ends)


def partitions_as_of(reader: Reader, text: str, option: str) -> Reader:
    """Return a reader of the past, all partitions at one moment.

    ``text`` is a seq where one partition is served; of several an event, ``1/41``, or a position; a
    time, or how long ago, of either. Of an event, other partitions are as they were when it came.

    Raises:
        BadParameter: it is none of these, or lies outside the ledger.
        RefusalError: another server has read an event that it names, and this one has not yet.
    """
    _require_read(reader, text)
    if not reader.others:
        return reader_as_of(reader, text, option)
    partitions = [each.partition for each in reader.partition_readers()]
    if "=" in text and (ends := parse_position(text, partitions)) is not None:
        return _reader_up_to(reader, ends)
    if (event := _EVENT.fullmatch(text)) is not None:
        return _reader_up_to(
            reader, _ends_at_event(reader, int(event[1]), int(event[2]), f"{option} {text}")
        )
    if text.isdecimal():
        raise typer.BadParameter(
            f"{option} {text}: this ledger has {len(reader.partition_readers())} partitions, and "
            f"each counts its own seqs: give a time, or an event with its partition: 0/{text}."
        )
    return reader_as_of(reader, text, option)


def reader_at(reader: Reader, ends: Ends, past_us: int = 0) -> Reader:
    """Return a reader of the past, each partition up to its seq, and to ``past_us`` if not 0."""
    first, *others = (
        each._replace(end=ends.get(each.partition, 0), past=True, past_us=past_us)
        for each in reader.partition_readers()
    )
    alone = reader.alone and not others
    return first._replace(others=tuple(others), alone=alone)


def _require_read(reader: Reader, text: str) -> None:
    event = _EVENT.fullmatch(text)
    pair = text if event is None else f"{event[1]}={event[2]}"
    ends = parse_position(pair, [each.partition for each in reader.partition_readers()]) or {}
    for each in reader.partition_readers():
        seq = ends.get(each.partition, 0)
        if seq > each.end and any(each.ledger.read(seq - 1, seq)):
            message = f"This server has not read event {seq} yet: try again."
            raise RefusalError(HTTPStatus.SERVICE_UNAVAILABLE, message, retry_after_s=1)


def _reader_up_to(reader: Reader, ends: Ends) -> Reader:
    for each in reader.partition_readers():
        if ends.get(each.partition, 0) > each.end:
            raise typer.BadParameter(
                f"Partition {each.partition} holds the events from 1 to {each.end}."
            )
    if not any(ends.values()):
        raise typer.BadParameter("This was before the ledger's first event.")
    return reader_at(reader, ends)


def _ends_at_event(reader: Reader, partition: int, seq: int, option: str) -> dict[int, int]:
    """Return how far each partition was when an event of one came: in the order of one history."""
    own = next((each for each in reader.partition_readers() if each.partition == partition), None)
    entries = [] if own is None or seq > own.end else list(own.ledger.read(seq - 1, seq))
    if not entries:
        raise typer.BadParameter(f"{option}: the ledger has no such event.")
    at_us = entries[0].at_us
    return {
        each.partition: seq
        if each.partition == partition
        else each.ledger.seq_at(at_us - (each.partition > partition))
        for each in reader.partition_readers()
    }
