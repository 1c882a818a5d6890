"""Of two instances on one cluster the second refuses; what another cluster left is set aside."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver.api import EmbeddedApi
from tests.parts.kubernetes import embedded_api
from tidegate.cluster.running import switch_to_cluster
from tidegate.kube.ownership import OwnedError, hold_ownership

__all__ = ["embedded_api"]
NAMESPACE = b'{"metadata": {"name": "tidegate-system"}}'


async def test_a_second_instance_refuses_and_names_the_first(embedded_api: EmbeddedApi) -> None:
    await embedded_api.request("POST", "/api/v1/namespaces", body=NAMESPACE)
    async with hold_ownership(embedded_api, "the first"):
        with pytest.raises(OwnedError, match="decides for this cluster: the first"):
            async with hold_ownership(embedded_api, "the second"):
                pass
    async with hold_ownership(embedded_api, "the second"):
        pass


def test_another_cluster_s_ledger_is_set_aside_and_comes_back_with_its_cluster(
    tmp_path: Path,
) -> None:
    names = list[str]()
    switch_to_cluster("one", tmp_path, names.append)
    (tmp_path / "ledger.db").write_text("of one")
    switch_to_cluster("one", tmp_path, names.append)
    assert names == []
    switch_to_cluster("two", tmp_path, names.append)
    assert not (tmp_path / "ledger.db").exists()
    assert "another cluster" in names[0]
    (tmp_path / "ledger.db").write_text("of two")
    switch_to_cluster("one", tmp_path, names.append)
    assert (tmp_path / "ledger.db").read_text() == "of one"
