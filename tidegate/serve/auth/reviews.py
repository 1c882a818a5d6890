"""TokenReview and SubjectAccessReview: the API server authenticates and authorizes users.

Nothing is decided here: what Kubernetes does not allow is not allowed here. Both answers are
cached for some seconds, refusals too, so a revoked right is gone as soon.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from typing import Any

import msgspec

from tidegate.kube.answers import checked_body
from tidegate.kube.ports import KubernetesApi
from tidegate.serve.auth.ttl_cache import TtlCache

REMEMBERED_S, REMEMBERED_MAX = 10.0, 10_000
TOKEN_BYTES_MAX = 16_384
_AUTHENTICATION = "/apis/authentication.k8s.io/v1/tokenreviews"
_AUTHORIZATION = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class User(msgspec.Struct, frozen=True, kw_only=True):
    """A caller as Kubernetes knows them: a user, or a service account."""

    name: str = msgspec.field(name="username", default="")
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = {}
    local: bool = False  # a user of this machine, where no token is needed

    def key(self) -> bytes:
        """Return what no two people have in common."""
        return sha256(msgspec.json.encode(self, order="sorted")).digest()


class Right(msgspec.Struct, frozen=True, kw_only=True):
    """A verb on a resource, as in a SubjectAccessReview."""

    verb: str
    resource: str
    group: str = "kueue.x-k8s.io"
    subresource: str = ""
    namespace: str = ""  # empty: all namespaces, or of the cluster
    name: str = ""


class _TokenStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: User = User()


class _TokenReview(msgspec.Struct, frozen=True):
    status: _TokenStatus = _TokenStatus()


class _AccessStatus(msgspec.Struct, frozen=True):
    allowed: bool = False
    denied: bool = False


class _AccessReview(msgspec.Struct, frozen=True):
    status: _AccessStatus = _AccessStatus()


class AccessReviewer:
    """Asks an API server for a token's user, and for users' rights."""

    def __init__(
        self, api: KubernetesApi, audience: str = "", now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._api, self._audience = api, audience
        self._users = TtlCache[bytes, User | bool](REMEMBERED_S, REMEMBERED_MAX, now_s)
        self._rights = TtlCache[tuple[bytes, Right], bool](REMEMBERED_S, REMEMBERED_MAX, now_s)

    def is_cached(self, token: str) -> bool:
        """Return whether the TokenReview of a token is cached."""
        return self._users.get(sha256(token.encode()).digest()) is not None

    async def authenticate_token(self, token: str) -> User | None:
        """Return the user of a token; None: the token is unknown.

        Raises:
            ApiStatusError: the API server does not let this server ask.
            ApiUnreachableError: no answer came.
        """
        if not token or len(token) > TOKEN_BYTES_MAX:
            return None
        key = sha256(token.encode()).digest()  # no token stays in memory
        cached = self._users.get(key)
        if cached is None:
            cached = await self._review_token(token) or False
            self._users.put(key, cached)
        return cached if isinstance(cached, User) else None

    async def is_allowed(self, person: User, right: Right) -> bool:
        """Return whether a user has a right.

        Raises:
            ApiStatusError: the API server does not let this server ask.
            ApiUnreachableError: no answer came.
        """
        key = person.key(), right
        is_found = self._rights.get(key)
        if is_found is None:
            spec = {
                "user": person.name,
                "uid": person.uid,
                "groups": person.groups,
                "extra": person.extra,
                "resourceAttributes": right,
            }
            body = await self._post(_AUTHORIZATION, "SubjectAccessReview", spec)
            status = msgspec.json.decode(body, type=_AccessReview).status
            is_found = status.allowed and not status.denied
            self._rights.put(key, is_found)
        return is_found

    async def _review_token(self, token: str) -> User | None:
        spec: dict[str, Any] = {"token": token}
        if self._audience:
            spec["audiences"] = [self._audience]
        body = await self._post(_AUTHENTICATION, "TokenReview", spec)
        status = msgspec.json.decode(body, type=_TokenReview).status
        # ``local`` is ours alone to say.
        person = msgspec.structs.replace(status.user, local=False)
        return person if status.authenticated and person.name else None

    async def _post(self, path: str, kind: str, spec: dict[str, Any]) -> bytes:
        version = path.removeprefix("/apis/").rpartition("/")[0]
        requests = {"apiVersion": version, "kind": kind, "spec": spec}
        answer = await self._api.request("POST", path, body=msgspec.json.encode(requests))
        return checked_body(answer, HTTPStatus.CREATED)
