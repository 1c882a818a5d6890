"""A control plane of our own, without mutating policies."""

from __future__ import annotations

from tests.parts.kubernetes import new_api

__all__ = ["new_api"]
