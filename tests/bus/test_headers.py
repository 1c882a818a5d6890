"""Headers of messages are made and read as nats-py does it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client
from nats.errors import BadHeaderError

from tests.parts.drawn import drawn
from tidegate.bus.headers import header_block, parse_header_block
from tidegate.bus.jetstream.wire.client import QuickClient

NAMES = st.text(st.sampled_from("abcXYZ019-_~!"), min_size=1, max_size=12)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=40).map(
    str.strip
)
HEADERS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=12)


class Library(Client):
    """A client that is not connected."""

    def sent(self, headers: Mapping[str, str]) -> bytes:
        """Return what it would send."""
        asyncio.run(self._send_publish("to.some", "re.ply", b"payload", 7, dict(headers)))
        return b"".join(self._pending)

    @classmethod
    def read(cls, block: bytes) -> dict[str, str]:
        """Return headers as it reads them."""
        return cls._parse_header_lines(block)


class Quick(Library, QuickClient):
    """The same of ours."""


@drawn(100)
@given(HEADERS)
def test_a_message_is_sent_as_the_library_sends_it(headers: dict[str, str]) -> None:
    assert Quick().sent(headers) == Library().sent(headers)


@drawn(100)
@given(HEADERS)
def test_headers_are_read_as_they_were_written(headers: dict[str, str]) -> None:
    block = header_block(headers)
    assert block is not None
    assert parse_header_block(block.partition(b"\r\n")[2]) == headers


@drawn(100)
@given(st.lists(st.tuples(NAMES, st.binary(max_size=20)), max_size=8))
def test_headers_are_read_as_the_library_reads_them(lines: list[tuple[str, bytes]]) -> None:
    block = b"".join(name.encode() + b": " + value + b"\r\n" for name, value in lines)
    assert parse_header_block(block) == Library.read(block)


@pytest.mark.parametrize("line", ["", "no header", "two words: a", "näme: a", ": a"])
def test_what_is_no_header_is_left_out(line: str) -> None:
    assert parse_header_block(f"{line}\r\nName:  value \r\n\r\n".encode()) == {"Name": "value"}


@pytest.mark.parametrize("value", ["a\r\nForged: b", "a\nb", "a\rb"])
def test_a_value_that_breaks_its_line_forges_no_header(value: str) -> None:
    assert header_block({"Name": value}) is None
    assert Quick().sent({"Name": value}) == Library().sent({"Name": value})


@pytest.mark.parametrize("name", ["a b", "a:b", "a\r\nb"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(BadHeaderError):
        Quick().sent({name: "value"})
