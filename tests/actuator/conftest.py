"""A real control plane for the tests that need one."""

from __future__ import annotations

from tests.parts.kubernetes import real_api, real_namespace

__all__ = ["real_api", "real_namespace"]
