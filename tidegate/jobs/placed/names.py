"""Which names of labels, annotations, gates and finalizers are Tidegate's or Kueue's."""

from __future__ import annotations

from tidegate.kinds import names

OURS = "tidegate.dev"


def is_tidegates(name: str) -> bool:
    """Return whether a qualified name is in Tidegate's domain or below."""
    return _is_in(OURS, name)


def is_reserved(name: str) -> bool:
    """Return whether a qualified name is in Tidegate's or in Kueue's domain, or below."""
    return _is_in(OURS, name) or _is_in(names.GROUP, name)


def _is_in(domain: str, name: str) -> bool:
    prefix = name.partition("/")[0].lower()
    return prefix == domain or prefix.endswith(f".{domain}")
