"""A nats-server with the configuration that is shipped, over TLS, with an account a service."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.deploy.rendering import DEPLOY
from tidegate.bus.embedded import find_server
from tidegate.cluster.go.credentials import write_credentials

USERS = ("ingest", "scheduler", "actuator", "dispatcher", "reader", "operator")
START_S = 60


class Served(msgspec.Struct, frozen=True):
    """Where a server is, and the authority that signed its certificate."""

    port: int
    ca: Path

    def url(self, user: str) -> str:
        """Return the URL for one user, password included."""
        return f"tls://tidegate_local_{user}:{password(user)}@127.0.0.1:{self.port}"


def password(user: str) -> str:
    """Return what a user of the test's server has to say."""
    return f"only-{user}-knows"


def accounts(partitions: Sequence[int] = ()) -> str:
    """Return the accounts that are shipped, with those of partitions as docs/partitions.md says."""
    text = (DEPLOY / "nats" / "accounts.conf").read_text()
    for number in partitions:
        shipped = (DEPLOY / "nats" / "partition.conf").read_text()
        adds = re.sub(r"(?<=[_.-])1(?![0-9])", str(number), shipped)
        readers, operator, users = (
            adds.partition(f"\n{name}: [")[2].partition(end)[0]
            for name, end in (("readers_rights", "]"), ("operator_rights", "]"), ("users", "\n]"))
        )
        for user, rights in (("reader", readers), ("operator", readers + operator)):
            head, name, rest = text.partition(f"user: tidegate_local_{user},")
            text = head + name + rest.replace("allow: [", f"allow: [{rights}", 1)
        text = text.replace("users: [", "users: [" + users, 1)
    return text


@contextmanager
def nats_with_accounts(folder: Path, partitions: Sequence[int] = ()) -> Generator[Served]:
    """Run a server with deploy/nats/accounts.conf until the block ends."""
    tls = folder / "tls"
    tls.mkdir(parents=True)
    write_credentials(tls, "https://127.0.0.1")
    (folder / "accounts.conf").write_text(accounts(partitions))
    config = folder / "nats.conf"
    config.write_text(
        f"listen: 127.0.0.1:-1\nports_file_dir: {msgspec.json.encode(str(folder)).decode()}\n"
        f'tls {{ cert_file: "{tls}/tls.crt", key_file: "{tls}/tls.key" }}\n'
        f'jetstream {{ store_dir: "{folder}/store" }}\ninclude "accounts.conf"\n'
    )
    parted = (f"{user}_{number}" for user in ("scheduler", "actuator") for number in partitions)
    passwords = {f"TIDEGATE_{user.upper()}_PASSWORD": password(user) for user in (*USERS, *parted)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [find_server(), "-c", str(config)],
            env={**os.environ, **passwords},
            stdout=log,
            stderr=log,
        )
    try:
        yield Served(_port(folder, process), tls / "tls.crt")
    finally:
        process.terminate()
        process.wait(timeout=START_S)


def _port(folder: Path, process: subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, (folder / "log").read_text()
        for path in folder.glob("*.ports"):
            document = msgspec.json.decode(path.read_bytes() or b"{}")
            if document.get("nats"):
                return int(document["nats"][0].rpartition(":")[2])
        time.sleep(0.02)
    raise AssertionError("nats-server did not start")
