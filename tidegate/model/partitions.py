"""Partitions of one cluster's scheduling: numbers, of which 0 is there always (docs/adr/0027)."""

from __future__ import annotations

PARTITION_MAX = 999
PARTITION_NUMBER = "^(0|[1-9][0-9]{0,2})$"
"""How a partition is written, and no other way: two names of one would be two to a policy."""
