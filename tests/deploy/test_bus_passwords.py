"""The bus that is shipped on loopback generates its password and refuses clients without it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from ingest.settings import Settings
from tests.deploy.rendering import DEPLOY
from tests.parts.postgresql import wait_until
from tidegate.bus.embedded import find_server
from tidegate.bus.jetstream.connection import open_bus
from tidegate.bus.streams import StreamOptions
from tidegate.errors import BusUnreachableError
from tidegate.ports import free_ports

pytestmark = pytest.mark.real


def compose() -> tuple[str, str]:
    """Return what the container runs, and its configuration, of deploy/compose.yaml."""
    file: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    texts = file["services"]["nats"]["command"][0], file["configs"]["nats"]["content"]
    return texts[0].replace("$$", "$"), texts[1].replace("$$", "$")


def embedded() -> tuple[str, str]:
    """Return the same of the overlay for one pod."""
    folder = DEPLOY / "overlays" / "embedded"
    pod = [*yaml.safe_load_all((folder / "pod.yaml").read_text())][-1]["spec"]["template"]["spec"]
    config = yaml.safe_load((folder / "bus.yaml").read_text())["data"]["nats.conf"]
    return pod["initContainers"][0]["command"][2], config


@contextmanager
def started(script: str, config: str, folder: Path) -> Iterator[int]:
    """Run a bus below a folder until the block ends; yield its port."""
    port, monitor = free_ports(2)
    moved = config.replace(":4222", f":{port}").replace(":8222", f":{monitor}")
    for place in ("/data", "/var/lib/tidegate/nats"):
        moved = moved.replace(f"store_dir: {place}", f"store_dir: {folder}/data")
    (folder / "nats.conf").write_text(moved)
    here = script.replace("/run/bus", str(folder)).replace("/etc/nats", str(folder))
    path = f"{Path(find_server()).parent}:{os.environ['PATH']}"
    process = subprocess.Popen(
        ["/bin/sh", "-c", here], env={"PATH": path}, stderr=subprocess.DEVNULL
    )
    try:
        wait_until((folder / "password").exists, "there is no password")
        yield port
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("form", [compose, embedded], ids=["compose", "embedded"])
async def test_a_service_joins_with_the_password_of_the_file_and_none_without(
    form: Callable[[], tuple[str, str]], tmp_path: Path
) -> None:
    script, config = form()
    with started(script, config, tmp_path) as port:
        file = tmp_path / "password"
        assert file.stat().st_mode & 0o777 == 0o600
        url = f"nats://tidegate@127.0.0.1:{port}"
        settings = Settings(nats_url=url, nats_password_file=str(file))
        async with open_bus(settings.bus_url(), cluster="local", name="scheduler") as bus:
            await bus.ensure_streams(StreamOptions())
        with pytest.raises(BusUnreachableError):
            async with open_bus(url, cluster="local", name="scheduler", patience_s=1):
                pass
