"""Taints and tolerations as a command line says them: ``key=value:NoSchedule``."""

from __future__ import annotations

import typer

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def read_taints(text: str, option: str) -> list[dict[str, str]]:
    """Read ``key=value:effect,key:effect``.

    Raises:
        BadParameter: one has no effect, or one that Kubernetes does not know.
    """
    return [_taint(part, option) for part in filter(None, text.split(","))]


def read_tolerations(text: str, option: str) -> list[dict[str, str]]:
    """Read ``key=value:effect``; without a value any, without an effect every one is tolerated.

    Raises:
        BadParameter: an effect is none that Kubernetes knows.
    """
    return [_toleration(part, option) for part in filter(None, text.split(","))]


def _taint(text: str, option: str) -> dict[str, str]:
    key, value, effect = _parts(text, option)
    if not effect:
        raise typer.BadParameter(f"{option} {text!r} has no effect: {', '.join(EFFECTS)}.")
    return {"key": key, **({"value": value} if value else {}), "effect": effect}


def _toleration(text: str, option: str) -> dict[str, str]:
    key, value, effect = _parts(text, option)
    matched = {"operator": "Equal", "value": value} if value else {"operator": "Exists"}
    return {"key": key, **matched, **({"effect": effect} if effect else {})}


def _parts(text: str, option: str) -> tuple[str, str, str]:
    pair, _, effect = text.partition(":")
    key, _, value = pair.partition("=")
    if not key or (effect and effect not in EFFECTS):
        raise typer.BadParameter(
            f"{option} {text!r} is not of the form KEY=VALUE:EFFECT, EFFECT one of "
            f"{', '.join(EFFECTS)}."
        )
    return key, value, effect
