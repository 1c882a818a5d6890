"""A database server and a control plane, for what is deployed."""

from __future__ import annotations

from tests.parts.kubernetes import own_api, own_plane
from tests.parts.postgresql import postgresql

__all__ = ["own_api", "own_plane", "postgresql"]
