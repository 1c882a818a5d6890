"""A hub's nats-server with the accounts that are shipped, and a leaf node of each member cluster.

A leaf has no JetStream of its own, and users for its cluster's two services.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.deploy.nats_server import USERS, password
from tests.deploy.rendering import DEPLOY
from tidegate.bus.embedded import find_server
from tidegate.ports import free_ports

HUB = "local"
START_S = 60.0
MEMBER_USERS = ("ingest", "actuator", "leaf")


def named(cluster: str, file: str) -> str:
    """Return what is shipped for the member east, for another one."""
    text = (DEPLOY / "nats" / file).read_text()
    return text.replace("east", cluster).replace("_EAST_", f"_{cluster.upper()}_")


def parts(cluster: str) -> tuple[str, str]:
    """Return what a member adds: rights of the hub's scheduler, and users."""
    text = named(cluster, "member.conf")
    rights, users = text.partition("scheduler_rights: [")[2].split("users: [", 1)
    return rights.rpartition("]")[0], users.rpartition("]")[0]


def accounts(members: tuple[str, ...]) -> str:
    """Return the hub's accounts with those of its members, as docs/member-clusters.md puts them."""
    text = (DEPLOY / "nats" / "accounts.conf").read_text()
    mine = '"tidegate.local.observed.probes.>"\n              "tidegate.local.resync"'
    assert text.count(mine) == 1
    for cluster in members:
        rights, users = parts(cluster)
        text = text.replace(mine, mine + rights)
        text = text.replace("users: [", "users: [" + users, 1)
    return text


class Servers:
    """The hub's server and the leaves; each may be killed and started again."""

    def __init__(self, folder: Path, members: tuple[str, ...]) -> None:
        self._folder = folder
        folder.mkdir(parents=True)
        self._leaf_port, *ports = free_ports(len(members) + 2)
        self.ports = dict(zip((HUB, *members), ports, strict=True))
        self._processes = dict[str, subprocess.Popen[bytes]]()
        self._passwords = {f"TIDEGATE_{user.upper()}_PASSWORD": password(user) for user in USERS}
        for cluster in members:
            for user in MEMBER_USERS:
                name = f"TIDEGATE_{cluster.upper()}_{user.upper()}_PASSWORD"
                self._passwords[name] = password(f"{cluster}-{user}")
            self._write(cluster, self._leaf(cluster))
        (folder / "accounts.conf").write_text(accounts(members))
        hub = (
            f'jetstream {{ domain: {HUB}, store_dir: "{folder}/store" }}\ninclude "accounts.conf"\n'
        )
        self._write(HUB, f"leafnodes {{ listen: 127.0.0.1:{self._leaf_port} }}\n{hub}")

    def url(self, cluster: str, user: str) -> str:
        """Return the URL of a cluster's own server for one of its services."""
        known = password(user if cluster == HUB else f"{cluster}-{user}")
        return f"nats://tidegate_{cluster}_{user}:{known}@127.0.0.1:{self.ports[cluster]}"

    def start(self, cluster: str) -> None:
        """Start a cluster's server, and wait until it listens."""
        config, log = self._folder / f"{cluster}.conf", self._folder / f"{cluster}.log"
        with log.open("ab") as file:
            self._processes[cluster] = subprocess.Popen(
                [find_server(), "-c", str(config)],
                env={**os.environ, **self._passwords},
                stdout=file,
                stderr=file,
            )
        deadline = time.monotonic() + START_S
        while not self._listens(cluster):
            assert time.monotonic() < deadline, log.read_text()[-2000:]
            time.sleep(0.05)

    def kill(self, cluster: str) -> None:
        """End a cluster's server as its machine ends."""
        self._processes[cluster].kill()
        self._processes.pop(cluster).wait()

    def close(self) -> None:
        """End all that run."""
        for cluster in list(self._processes):
            self.kill(cluster)

    def _listens(self, cluster: str) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.ports[cluster])) == 0

    def _write(self, cluster: str, text: str) -> None:
        listen = f"listen: 127.0.0.1:{self.ports[cluster]}\n"
        (self._folder / f"{cluster}.conf").write_text(listen + text)

    def _leaf(self, cluster: str) -> str:
        user, known = f"tidegate_{cluster}_leaf", password(f"{cluster}-leaf")
        url = f"nats-leaf://{user}:{known}@127.0.0.1:{self._leaf_port}"
        return named(cluster, "leaf.conf").replace("$TIDEGATE_HUB_URL", f'"{url}"')


@contextmanager
def hub_and_leaves(folder: Path, *members: str) -> Generator[Servers]:
    """Run a hub's server and a leaf of each member until the block ends."""
    servers = Servers(folder, members)
    try:
        for cluster in (HUB, *members):
            servers.start(cluster)
        yield servers
    finally:
        servers.close()
