"""Simulated nodes stay ready, whatever another client writes into them meanwhile."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec
import pytest

from apiserver.api import EmbeddedApi
from tidegate.cluster.nodes import fleet
from tidegate.cluster.nodes.fleet import SimulatedNodes
from tidegate.kube.ports import MERGE_PATCH, KubernetesApi

NODE = "/api/v1/nodes/node-7"
pytestmark = pytest.mark.timeout(60)


async def test_a_node_that_was_called_unknown_says_again_that_it_is_ready(
    embedded_api: EmbeddedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "_RENEW_S", 0.05)
    api = embedded_api
    playing = asyncio.create_task(SimulatedNodes(api, ("node-7",), {"cpu": "8"}).run())
    try:
        await _until_ready(api)
        unknown = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
        body = msgspec.json.encode(unknown)
        await api.request("PATCH", f"{NODE}/status", body=body, content_type=MERGE_PATCH)
        assert not _ready(await _node(api))
        await _until_ready(api)
    finally:
        playing.cancel()
        await asyncio.wait([playing])


async def _node(api: KubernetesApi) -> dict[str, Any]:
    answer = await api.request("GET", NODE)
    node: dict[str, Any] = msgspec.json.decode(answer.body)
    return node if answer.status == HTTPStatus.OK else {}


async def _until_ready(api: KubernetesApi) -> None:
    while not _ready(await _node(api)):
        await asyncio.sleep(0.01)


def _ready(node: dict[str, Any]) -> bool:
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in node.get("status", {}).get("conditions", ())
    )
