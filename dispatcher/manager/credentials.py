"""The credentials of a worker cluster: from a Secret or a file, and only if they may be used.

Source: multikueue.md 1.1.
"""

from __future__ import annotations

import asyncio
import binascii
import os
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from dispatcher.workers.kubeconfig import BAD, PREFIX, Refusal, check_path, read_kubeconfig
from tidegate.jobs.kind import Object

KEY = "kubeconfig"
PROFILES = "MultiKueueClusterProfileFeatureDisabled"


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """A kubeconfig that may be used; nothing of it is ever shown."""

    data: bytes
    document: dict[str, Any]

    def __repr__(self) -> str:
        """Return it for a traceback: no credentials are in it."""
        return "Credentials(…)"


async def credentials_of(cluster: Object, secrets: Mapping[str, Object]) -> Credentials | Refusal:
    """Return what a MultiKueueCluster names; ``secrets`` are those of our namespace, by name."""
    spec = cluster["spec"]
    source = spec.get("clusterSource") or spec
    named = source.get("kubeConfig")
    if named is None:
        message = "MultiKueueClusterProfile feature gate is disabled"
        return Refusal(reason=PROFILES, error=message)
    location = named["location"]
    if named.get("locationType", "Secret") == "Secret":
        data = _from_secret(location, secrets)
    else:
        data = await asyncio.to_thread(_from_file, location)
    if isinstance(data, Refusal):
        return data
    document = read_kubeconfig(data)
    if isinstance(document, Refusal):
        return document
    return Credentials(data=data, document=document)


def _from_secret(name: str, secrets: Mapping[str, Object]) -> bytes | Refusal:
    secret = secrets.get(name)
    if secret is None:
        return Refusal(reason=BAD, error=f'Secret "{name}" not found')
    text = (secret.get("data") or {}).get(KEY)
    if text is None:
        return Refusal(reason=BAD, error=f'key "{KEY}" not found in secret "{name}"')
    try:
        return b64decode(text, validate=True)
    except binascii.Error:
        return Refusal(reason=BAD, error=f'key "{KEY}" of secret "{name}" is no base64')


def _from_file(path: str) -> bytes | Refusal:
    wrong = check_path(path, PREFIX, lambda location: os.path.realpath(location, strict=True))
    if wrong:
        return Refusal(reason=BAD, error=wrong)
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        return Refusal(reason=BAD, error=f"open {path}: {reason}")
