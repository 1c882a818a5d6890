"""The CRDs on the embedded API server, which evaluates no rule and no policy."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from apiserver.api import EmbeddedApi
from tests.kinds.cluster import DATA, Cluster, documents, files, in_version, label
from tidegate.kinds.crds import crds
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.v1beta2 import KINDS

KIND = {kind.name: kind for kind in KINDS}


@pytest.fixture
async def embedded() -> Cluster:
    """Lend an embedded server with the CRDs."""
    cluster = Cluster(EmbeddedApi(now_us=lambda: time.time_ns() // 1_000, random=Random(1)))
    for crd in crds(rules=False):
        assert (await cluster.create(crd)).message == ""
    return cluster


@pytest.mark.parametrize("path", files("samples"), ids=label)
async def test_a_sample_is_accepted(embedded: Cluster, path: Path) -> None:
    for manifest in documents(path):
        assert (await embedded.create(manifest)).message == ""


@pytest.mark.parametrize("path", files("defaults"), ids=label)
async def test_defaults_are_those_of_the_real_server(embedded: Cluster, path: Path) -> None:
    manifest, filled = documents(path)
    assert (await embedded.create(manifest)).body["spec"] == filled["spec"]


@pytest.mark.parametrize("path", files("respelled"), ids=label)
async def test_what_no_policy_respelled_is_kept_and_read_in_the_newer_spelling(
    embedded: Cluster, path: Path
) -> None:
    older, newer = documents(path)
    kind = KIND[older["kind"]]
    place = {"namespace": "default"} if kind.scope == "Namespaced" else {}
    manifest = in_version(older, "v1beta1") | {"metadata": {"name": "older"} | place}
    assert (await embedded.create(manifest)).message == ""
    if "status" in older:
        await embedded.merge(manifest, {"status": older["status"]}, "/status")
    stored = (await embedded.get(in_version(manifest, "v1beta2"))).body
    wanted = stored | newer
    assert read(stored, kind.type) == read(wanted, kind.type)


@pytest.mark.parametrize("path", [*DATA.glob("refused/*/v1alpha1.yaml")], ids=label)
async def test_the_oldest_version_is_not_served_there(embedded: Cluster, path: Path) -> None:
    assert (await embedded.create(documents(path)[0])).status == 404
