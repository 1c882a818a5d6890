"""The fixtures of the tests of partitions."""

from __future__ import annotations

from tests.parts.postgresql import postgresql

__all__ = ["postgresql"]
