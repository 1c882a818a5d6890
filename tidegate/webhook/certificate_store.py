"""The certificate in its Secret, and the authority in the webhook's configuration, kept up to date.

Two replicas share both: the first one writes, and the other one reads what was written.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64Error
from collections.abc import Callable, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from tidegate.cluster.install import is_subset
from tidegate.kinds.policies.forms import API_VERSION
from tidegate.kinds.policies.webhooks import NAMESPACE, WEBHOOK
from tidegate.kube.answers import checked_body
from tidegate.kube.ports import KubernetesApi
from tidegate.webhook.certificates import AUTHORITY, Files, renew_if_expiring
from tidegate.webhook.expressions import Object

_WHERE = ("name", "namespace", "port")
_CONFIGURATIONS = f"/apis/{API_VERSION}/mutatingwebhookconfigurations"


class ManagedObjects(NamedTuple):
    """What a webhook keeps."""

    names: Sequence[str]  # that its certificate is for
    asked: Sequence[Object]  # its configuration's webhooks, but for where they are
    namespace: str = NAMESPACE  # of the Secret
    name: str = WEBHOOK  # the Secret's, and the configuration's


class CertificateStore:
    """Keeps one Secret and one MutatingWebhookConfiguration."""

    def __init__(
        self, api: KubernetesApi, owned: ManagedObjects, now: Callable[[], datetime]
    ) -> None:
        """Keep what is owned; ``now`` is the wall clock, in UTC."""
        self._api, self._owned, self._now = api, owned, now
        self._secret = f"/api/v1/namespaces/{owned.namespace}/secrets/{owned.name}"
        self._configuration = f"{_CONFIGURATIONS}/{owned.name}"

    async def current_files(self) -> Files:
        """Return the current certificate, renewed if it expires soon.

        Raises:
            ApiStatusError: the API server refuses; 404: the Secret or the configuration is missing.
            ApiUnreachableError: it does not answer.
        """
        while True:
            secret = await self._get(self._secret)
            current = _decoded(secret.get("data") or {})
            files = renew_if_expiring(current, self._owned.names, self._now())
            if files == current or await self._put(
                self._secret, {**secret, "data": _encoded(files)}
            ):
                break
        await self._configure_authority(_encoded(files)[AUTHORITY])
        return files

    async def _configure_authority(self, bundle: str) -> None:
        """Bring the configuration to what is asked here, with the authority, where it differs.

        So it follows this process's own configuration, whatever manifest was applied.
        """
        while True:
            configuration = await self._get(self._configuration)
            webhooks: list[Object] = configuration.get("webhooks") or []
            place = webhooks[0]["clientConfig"] if webhooks else {}
            updated = [
                {**webhook, "clientConfig": _client_config(place, webhook["clientConfig"], bundle)}
                for webhook in self._owned.asked
            ]
            changed = {**configuration, "webhooks": updated}
            if is_subset(webhooks, updated) or await self._put(self._configuration, changed):
                return

    async def _get(self, path: str) -> Object:
        answer = await self._api.request("GET", path)
        obj: Object = msgspec.json.decode(checked_body(answer, HTTPStatus.OK))
        return obj

    async def _put(self, path: str, obj: Object) -> bool:
        """Replace an object; False: another was faster."""
        answer = await self._api.request("PUT", path, body=msgspec.json.encode(obj))
        if answer.status == HTTPStatus.CONFLICT:
            return False
        checked_body(answer, HTTPStatus.OK)
        return True


def _client_config(place: Object, client_config: Object, bundle: str) -> Object:
    """Return the clientConfig of a webhook, in the form of the existing one: service or URL."""
    if not place.get("url"):
        service = place.get("service") or {}
        return {
            "caBundle": bundle,
            "service": {
                **client_config["service"],
                **{key: service[key] for key in _WHERE if key in service},
            },
        }
    parts = urlsplit(place["url"])
    return {"caBundle": bundle, "url": f"https://{parts.netloc}{client_config['service']['path']}"}


def _encoded(files: Files) -> dict[str, str]:
    return {name: b64encode(content).decode() for name, content in files.items()}


def _decoded(data: dict[str, str]) -> Files:
    try:
        return {name: b64decode(content) for name, content in data.items()}
    except NotBase64Error:
        return {}
