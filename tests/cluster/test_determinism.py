"""The embedded cluster is the same again from the same seed, whatever the process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

STORY = """
import hashlib
from random import Random
from apiserver.api import EmbeddedApi
from apiserver.controllers.controller_manager import ControllerManager
import msgspec

clock, chance = [1_800_000_000_000_000], Random(7)
api = EmbeddedApi(now_us=lambda: clock[0], random=Random(7))
controller_manager = ControllerManager(api, delay_us=lambda: chance.randint(0, 900_000))
controller_manager.add_node("node-0", cpu="3")
path, pod = "/apis/batch/v1/namespaces/default/jobs", {"restartPolicy": "Never"}
pod["containers"] = [{"name": "a", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
for number in range(12):
    spec = {"parallelism": 2, "completions": 3, "template": {"spec": pod}}
    body = msgspec.json.encode({"metadata": {"generateName": "a-"}, "spec": spec})
    assert api.call("POST", path, body=body).status == 201
while (due := controller_manager.step()) is not None:
    clock[0] = max(clock[0], due)
jobs = msgspec.json.decode(api.call("GET", path).body)["items"]
assert [job["status"]["succeeded"] for job in jobs] == [3] * 12
whole = b"".join(api.call("GET", p).body for p in (path, "/api/v1/pods", "/api/v1/nodes"))
print(hashlib.sha256(whole).hexdigest(), api.registry.state.revision)
"""


def tell(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    process = subprocess.run(
        [sys.executable, "-c", STORY], env=environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.mark.parametrize("other", ["2", "3"])
def test_one_seed_gives_one_cluster_in_every_process(other: str) -> None:
    assert tell("1") == tell(other)
