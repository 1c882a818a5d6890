"""Responses of the API server, read within bounds: a tenant's object must not exhaust memory.

An object has at most 1.5 MiB in etcd, and six times as much as JSON, where each character of it may
be escaped. So hundreds of them in one page are more than a service's memory.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Protocol

from tidegate.errors import ApiStatusError, PageTooLargeError
from tidegate.model.texts import parse_whole

LINE_BYTES_MAX = 2**26
"""Bytes of one watch event: far above the size of any object."""
PAGE_BYTES_MAX = 2**24
"""Of one page of a list; a page of one object has what that has."""
_SHRINKS, _GROWS = 8, 2
_LIMIT = "limit"
_CUT = re.compile(rb"[^\n]*\n|[^\n]+")


class Content(Protocol):
    """What an answer has, as it comes."""

    def iter_any(self) -> AsyncIterator[bytes]:
        """Yield what has arrived, piece by piece."""
        ...


class PageSizes:
    """How many objects a page may have, by path: fewer, once those there are too large."""

    def __init__(self) -> None:
        self._limits = dict[str, int]()

    def limit_query(self, path: str, query: Mapping[str, str] | None) -> Mapping[str, str] | None:
        """Return a query that asks for no more than fits."""
        if not self._limits:
            return query
        most, limit = self._limits.get(path, 0), limit_of(query)
        return {**query, _LIMIT: str(most)} if query and 0 < most < limit else query

    def shrink(self, path: str, query: Mapping[str, str] | None) -> None:
        """Ask for far fewer from now on: a page was too large."""
        self._limits[path] = max(1, limit_of(query) // _SHRINKS)

    def grow(self, path: str, query: Mapping[str, str] | None) -> None:
        """Ask for more again: a page of those fitted."""
        if path in self._limits and limit_of(query) == self._limits[path]:
            self._limits[path] *= _GROWS


def limit_of(query: Mapping[str, str] | None) -> int:
    """Return how many objects a page may have; 0: it is no page."""
    return (parse_whole(query[_LIMIT]) or 0) if query and _LIMIT in query else 0


async def read_body(content: Content, limit: int, bytes_max: int = 0) -> bytes:
    """Return an answer that is read at once, of ``bytes_max`` at most; 0: of any size.

    Raises:
        PageTooLargeError: it is a page of more than one object, and too large.
        ApiStatusError: 507, it is larger than that.
    """
    pieces, size = list[bytes](), 0
    async for piece in content.iter_any():
        pieces.append(piece)
        size += len(piece)
        if 0 < bytes_max < size:
            message = f"The answer has more than {bytes_max} B."
            raise ApiStatusError(HTTPStatus.INSUFFICIENT_STORAGE, message)
        if limit > 1 and size > PAGE_BYTES_MAX:
            raise PageTooLargeError(limit)
    return b"".join(pieces)


async def read_lines(content: Content) -> AsyncIterator[bytes]:
    """Yield each line with its end; empty ones are left out.

    Raises:
        ApiStatusError: 410, for whatever comes behind so long a line can only be listed.
    """
    pieces, size = list[bytes](), 0
    async for piece in content.iter_any():
        for number in _CUT.findall(piece):
            pieces.append(number)
            size += len(number)
            if size > LINE_BYTES_MAX:
                raise ApiStatusError(HTTPStatus.GONE, f"A line has more than {LINE_BYTES_MAX} B.")
            if number.endswith(b"\n"):
                line, pieces, size = b"".join(pieces), [], 0
                if line.strip():
                    yield line
    if rest := b"".join(pieces).strip():
        yield rest
