"""What NATS says is read as nats-py reads it, however its bytes are cut."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client
from nats.errors import ProtocolError
from nats.protocol.parser import Parser

from tests.parts.drawn import drawn
from tidegate.bus.jetstream.wire.quick_parser import QuickParser

WORDS = st.text(st.sampled_from("abcXYZ019._-$"), min_size=1, max_size=9)
DATA = st.binary(max_size=30)
HEADERS = st.sampled_from(["", "NATS/1.0\r\nA: b\r\n\r\n", "NATS/1.0 100 Idle\r\n\r\n"])
LINES = st.sampled_from(
    [b"PING\r\n", b"PONG\r\n", b"+OK\r\n", b"-ERR 'no'\r\n", b'INFO {"a":1}\r\n']
)


class Heard(Client):
    """Notes what a parser says to it."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = list[object]()

    async def process(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes | None
    ) -> None:
        self.heard.append((sid, subject, reply, data, headers or b""))

    _process_msg = process

    async def _process_ping(self) -> None:
        self.heard.append("ping")

    async def _process_pong(self) -> None:
        self.heard.append("pong")

    async def _process_err(self, err_msg: str) -> None:
        self.heard.append(err_msg)

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:  # noqa: FBT001, FBT002 - the library's
        self.heard.append((info, initial_connection))


def message(subject: str, reply: str, data: bytes, headers: str) -> bytes:
    block, words = headers.encode(), " ".join([subject, "7", *([reply] if reply else [])])
    sizes = f"{len(block)} {len(block) + len(data)}" if block else f"{len(data)}"
    return f"{'H' * bool(block)}MSG {words} {sizes}\r\n".encode() + block + data + b"\r\n"


SAID = st.lists(LINES | st.builds(message, WORDS, st.just("") | WORDS, DATA, HEADERS), max_size=8)


def read(client: Heard, parser: Parser, pieces: Sequence[bytes]) -> list[object]:
    async def parse() -> None:
        for piece in pieces:
            await parser.parse(piece)

    asyncio.run(parse())
    return client.heard


def quick(pieces: Sequence[bytes]) -> list[object]:
    client = Heard()
    return read(client, QuickParser(client, client.process), pieces)


@drawn(200)
@given(SAID, st.lists(st.integers(0, 400), max_size=6))
def test_all_is_read_as_the_library_reads_it(said: list[bytes], cuts: list[int]) -> None:
    text, ends = b"".join(said), [0, *sorted(cuts), 1_000]
    pieces = [text[begin:end] for begin, end in pairwise(ends)]
    client = Heard()
    assert quick(pieces) == read(client, Parser(client), pieces)


@pytest.mark.parametrize(
    "line", ["MSG a 1\r\n", "MSG a 1 b c 2\r\n", "MSG a b 2\r\n", "HMSG a 1 x 2\r\n", "WHAT\r\n"]
)
def test_what_no_server_says_ends_the_reading(line: str) -> None:
    with pytest.raises(ProtocolError):
        quick([line.encode()])


def test_of_another_connection_nothing_is_left() -> None:
    client = Heard()
    parser = QuickParser(client, client.process)
    read(client, parser, [b"MSG a 1 5\r\nhal"])
    parser.reset()
    assert read(client, parser, [b"PING\r\n"]) == ["ping"]
