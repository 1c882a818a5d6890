"""The defaults that the API server fills in are those of Kueue, and those of our types."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kinds.cluster import Cluster, documents, files, label
from tidegate.kinds.decode import read
from tidegate.kinds.kueue_api.v1beta2 import KINDS

TYPES = {kind.name: kind.type for kind in KINDS}


@pytest.mark.real
@pytest.mark.parametrize("path", files("defaults"), ids=label)
async def test_the_api_server_fills_in_what_was_left_out(cluster: Cluster, path: Path) -> None:
    manifest, filled = documents(path)
    answer = await cluster.create(manifest, dry=True)
    assert answer.body["spec"] == filled["spec"]


@pytest.mark.parametrize("path", files("defaults"), ids=label)
def test_a_type_reads_the_same_with_and_without_its_defaults(path: Path) -> None:
    manifest, filled = documents(path)
    kind = TYPES[manifest["kind"]]
    assert read(manifest, kind) == read(manifest | filled, kind)
