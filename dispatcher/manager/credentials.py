"""The credentials of a worker cluster: from a Secret, a file or a ClusterProfile, if usable.

Source: multikueue.md 1.1.
"""

from __future__ import annotations

import asyncio
import binascii
import os
from base64 import b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dispatcher.manager.plugins import Plugin
from dispatcher.manager.profiles import read_profile
from dispatcher.workers.kubeconfig import BAD, PREFIX, Refusal, check_path, read_kubeconfig
from tidegate.jobs.kind import Object
from tidegate.service.config.access_providers import AccessProvider

KEY = "kubeconfig"


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """A kubeconfig that may be used; its text is never logged or printed."""

    data: bytes  # other data means other credentials
    document: dict[str, Any]
    plugin: Plugin | None = None  # logs in where the document has no login

    def __repr__(self) -> str:
        """Return it for a traceback: no credentials are in it."""
        return "Credentials(…)"


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """Where credentials come from; Secrets and ClusterProfiles are those of our namespace."""

    secrets: Mapping[str, Object] = {}
    profiles: Mapping[str, Object] = {}
    providers: Sequence[AccessProvider] | None = None  # see ``read_profile``


async def credentials_of(cluster: Object, sources: Sources) -> Credentials | Refusal:
    """Return the credentials that a MultiKueueCluster names."""
    spec = cluster["spec"]
    source = spec.get("clusterSource") or spec
    named = source.get("kubeConfig")
    if named is None:
        return _from_profile(source["clusterProfileRef"]["name"], sources)
    location = named["location"]
    if named.get("locationType", "Secret") == "Secret":
        data = _from_secret(location, sources.secrets)
    else:
        data = await asyncio.to_thread(_from_file, location)
    if isinstance(data, Refusal):
        return data
    document = read_kubeconfig(data)
    if isinstance(document, Refusal):
        return document
    return Credentials(data=data, document=document)


def _from_profile(name: str, sources: Sources) -> Credentials | Refusal:
    profile = read_profile(name, sources.profiles, sources.providers)
    if isinstance(profile, Refusal):
        return profile
    data = msgspec.json.encode(profile, order="sorted")
    return Credentials(data=data, document=profile.document, plugin=profile.plugin)


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
