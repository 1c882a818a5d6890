"""Heads of HTTP/1.1 answers: status, headers, and where the body ends."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple


class ResponseHead(NamedTuple):
    """The status line and headers of a response."""

    status: int
    headers: Mapping[str, str]
    length: int | None  # of the body; None: it comes in chunks, or ends with the connection
    chunked: bool
    keep_alive: bool  # the connection lives on behind the body


def parse_head(text: bytes) -> ResponseHead:
    """Read the bytes before the empty line.

    Raises:
        ValueError, IndexError: they are no head of an answer.
    """
    first, *lines = text.decode("latin-1").split("\r\n")
    version, status, *_ = first.split(" ", 2)
    headers = dict[str, str]()
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    code, chunked = int(status), "chunked" in headers.get("transfer-encoding", "").lower()
    length = None
    if not chunked and "content-length" in headers:
        length = parse_length(headers["content-length"].encode(), 10)
    if code in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED):
        length, chunked = 0, False
    ends = length is None and not chunked
    closes = "close" in headers.get("connection", "").lower()
    keeps_alive = version == "HTTP/1.1" and not closes and not ends
    return ResponseHead(code, headers, length, chunked, keeps_alive)


def parse_length(text: bytes, base: int) -> int:
    """Return the number of bytes that a text of a base says.

    Raises:
        ValueError: it says none, or fewer than none.
    """
    number = int(text, base)
    if number < 0:
        raise ValueError(f"{number} bytes")
    return number
