"""People's manifests, in both versions, on a real API server and in our own types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.kinds.cluster import Cluster, documents, files, in_version, label
from tidegate.kinds.decode import decode_object, read
from tidegate.kinds.kueue_api.v1beta2 import KINDS

TYPES = {kind.name: kind.type for kind in KINDS}


def test_every_kind_has_a_sample_in_both_versions() -> None:
    wanted = {
        f"samples/{version}/{kind.plural}" for kind in KINDS for version in ("v1beta1", "v1beta2")
    }
    assert {label(path) for path in files("samples")} == wanted


@pytest.mark.parametrize("path", files("samples"), ids=label)
def test_a_sample_can_be_read(path: Path) -> None:
    for manifest in documents(path):
        value: Any = read(manifest, TYPES[manifest["kind"]])
        assert value.metadata.name == manifest["metadata"]["name"]


@pytest.mark.real
@pytest.mark.parametrize("path", files("samples"), ids=label)
async def test_a_sample_is_accepted(cluster: Cluster, path: Path) -> None:
    for manifest in documents(path):
        answer = await cluster.create(manifest, dry=True)
        assert (answer.status, answer.message) == (201, "")


@pytest.mark.real
@pytest.mark.parametrize("path", files("samples/v1beta1"), ids=label)
async def test_a_sample_reads_the_same_in_either_version(cluster: Cluster, path: Path) -> None:
    for manifest in documents(path):
        await cluster.create(manifest)
        newer = await cluster.get(in_version(manifest, "v1beta2"))
        await cluster.delete(manifest)
        kind = TYPES[manifest["kind"]]
        assert content(read(newer.body, kind)) == content(read(manifest, kind))


@pytest.mark.parametrize("path", files("samples"), ids=label)
def test_what_was_read_can_be_written_and_read_again(path: Path) -> None:
    for manifest in documents(path):
        kind = TYPES[manifest["kind"]]
        struct = read(manifest, kind)
        assert decode_object(msgspec.json.encode(struct), kind) == struct


def content(value: Any) -> dict[str, Any]:  # noqa: ANN401 - of any kind
    return {
        field: getattr(value, field)
        for field in value.__struct_fields__
        if field not in {"api_version", "kind", "metadata"}
    }
