"""Three nats-servers that are one cluster: routes, TLS, and the accounts that are shipped."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from nats.aio.client import Client

from tests.deploy.nats_server import USERS, password
from tests.deploy.rendering import DEPLOY
from tidegate.bus.embedded import find_server
from tidegate.cluster.go.credentials import write_credentials
from tidegate.ports import free_ports

START_S = 30.0
ANSWER_S = 10.0
ADMIN = "admin"
"""A user of the account that may do everything, as the operators of NATS have."""


class Servers:
    """The three, by number; each may be killed, started again, and lose its disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.tls = folder / "tls"
        self.tls.mkdir(parents=True)
        write_credentials(self.tls, "https://127.0.0.1")
        self.ports, self._routes, self._monitors = free_ports(3), free_ports(3), free_ports(3)
        accounts = (DEPLOY / "nats" / "accounts.conf").read_text()
        administrator = f"users: [\n      {{ user: {ADMIN}, password: {password(ADMIN)} }}"
        assert "users: [" in accounts
        text = accounts.replace("users: [", administrator, 1)
        (folder / "accounts.conf").write_text(text)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def url(self, user: str) -> str:
        """Return what a service is told: one server; it learns of the others."""
        return f"tls://tidegate_local_{user}:{password(user)}@127.0.0.1:{self.ports[0]}"

    def every_url(self, user: str) -> str:
        """Return what a service is given in production: all servers, so that any may be gone."""
        return ",".join([self.url(user), *(f"tls://127.0.0.1:{port}" for port in self.ports[1:])])

    def start(self, number: int) -> None:
        """Start one on its ports and its disk, and wait until it listens."""
        config = self._folder / f"{number}.conf"
        config.write_text(self._config(number))
        passwords = {f"TIDEGATE_{user.upper()}_PASSWORD": password(user) for user in USERS}
        with (self._folder / f"{number}.log").open("ab") as log:
            self._processes[number] = subprocess.Popen(
                [find_server(), "-c", str(config)],
                env={**os.environ, **passwords},
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + START_S
        while not self._listens(number):
            assert time.monotonic() < deadline, (self._folder / f"{number}.log").read_text()[-2000:]
            time.sleep(0.05)

    def is_whole(self, number: int) -> bool:
        """Tell whether one has caught up with every stream that it has a part of."""
        url = f"http://127.0.0.1:{self._monitors[number]}/healthz"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    async def administer(self, subject: str) -> bytes:
        """Ask NATS for something as its administrator; return the answer."""
        client = Client()
        urls = [f"tls://{ADMIN}:{password(ADMIN)}@127.0.0.1:{port}" for port in self.ports]
        await client.connect(urls, tls=ssl.create_default_context(cafile=self.tls / "tls.crt"))
        try:
            return (await client.request(subject, timeout=ANSWER_S)).data
        finally:
            await client.close()

    def kill(self, number: int) -> None:
        """End one as its machine ends."""
        self._processes[number].kill()
        self._processes.pop(number).wait()

    def lose_disk(self, number: int) -> None:
        """Remove what one has stored; it does not run."""
        assert number not in self._processes
        shutil.rmtree(self._folder / f"store-{number}")

    def close(self) -> None:
        """End all that run."""
        for number in list(self._processes):
            self.kill(number)

    def _listens(self, number: int) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.ports[number])) == 0

    def _config(self, number: int) -> str:
        tls = f'cert_file: "{self.tls}/tls.crt", key_file: "{self.tls}/tls.key"'
        routes = ", ".join(f"nats-route://127.0.0.1:{port}" for port in self._routes)
        return (
            f"server_name: n{number}\nlisten: 127.0.0.1:{self.ports[number]}\n"
            f"http: 127.0.0.1:{self._monitors[number]}\ntls {{ {tls} }}\n"
            f'jetstream {{ store_dir: "{self._folder}/store-{number}" }}\n'
            f"cluster {{ name: c, listen: 127.0.0.1:{self._routes[number]}, routes: [{routes}] }}\n"
            'include "accounts.conf"\n'
        )


@contextmanager
def three_servers(folder: Path) -> Generator[Servers]:
    """Run three servers until the block ends."""
    servers = Servers(folder)
    try:
        for number in range(3):
            servers.start(number)
        yield servers
    finally:
        servers.close()
