"""Which cluster an API server is of: the uid of its Namespace kube-system, which never changes."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from tidegate.errors import ApiStatusError
from tidegate.kube.answers import status_message
from tidegate.kube.ports import KubernetesApi

PATH = "/api/v1/namespaces/kube-system"


class _Metadata(msgspec.Struct, frozen=True):
    uid: str


class _Namespace(msgspec.Struct, frozen=True):
    metadata: _Metadata


async def cluster_uid(api: KubernetesApi) -> str:
    """Return the cluster's uid.

    Raises:
        ApiStatusError: the server refused to say it.
        ApiUnreachableError: no answer came.
    """
    answer = await api.request("GET", PATH)
    if answer.status != HTTPStatus.OK:
        raise ApiStatusError(answer.status, status_message(answer.body))
    return msgspec.json.decode(answer.body, type=_Namespace).metadata.uid
