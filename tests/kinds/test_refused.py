"""What is refused on a real API server, and that the sentence names the field.

A data file says in its first line what the refusal must hold. Its documents are one object: what is
made first, then the change that is refused; with one document it is the making.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kinds.cluster import Answer, Cluster, Manifest, documents, files, label

pytestmark = pytest.mark.real
SAID = "# refused: "


def expected(path: Path) -> str:
    first = path.read_text().partition("\n")[0]
    assert first.startswith(SAID)
    return first.removeprefix(SAID)


@pytest.mark.parametrize("path", files("refused"), ids=label)
async def test_it_is_refused_with_a_sentence_that_names_the_field(
    cluster: Cluster, path: Path
) -> None:
    *before, refused = documents(path)
    if not before:
        answer = await cluster.create(refused, dry=True)
    else:
        answer = await changed(cluster, before[0], refused)
    assert expected(path) in answer.message


async def changed(cluster: Cluster, before: Manifest, refused: Manifest) -> Answer:
    made = await cluster.create({key: before[key] for key in before if key != "status"})
    assert made.status == 201, made.message
    try:
        if "status" in before:
            stood = await cluster.merge(before, {"status": before["status"]}, "/status")
            assert stood.status == 200, stood.message
        if "status" in refused:
            return await cluster.merge(refused, {"status": refused["status"]}, "/status")
        if refused["kind"] == "Job":
            return await cluster.merge(refused, refused)
        return await cluster.replace(refused)
    finally:
        await cluster.delete(before)
