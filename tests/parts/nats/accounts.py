"""A nats-server whose accounts are JWTs of an operator, and credentials files of their users.

Written after NATS' ADR-14 (JWT claims, version 2): a claim is signed with the Ed25519 key of its
issuer, the operator for accounts and the account for users.
"""

from __future__ import annotations

import asyncio
import os
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import nkeys

from tidegate.bus.embedded import find_server
from tidegate.ports import free_ports

HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}
UNLIMITED = ("subs", "data", "payload", "imports", "exports", "conn", "leaf")
STREAMS = ("mem_storage", "disk_storage", "streams", "consumer")
ISSUED_S = 1_700_000_000
START_S = 60


class Key:
    """A key pair of an operator, an account or a user."""

    def __init__(self, prefix: int) -> None:
        self.seed = nkeys.encode_seed(os.urandom(32), prefix)
        self.pair = nkeys.from_seed(self.seed)
        public = self.pair.public_key
        self.public = public.decode() if isinstance(public, bytes) else str(public)


class Account:
    """An account of an operator, with JetStream if it may store."""

    def __init__(self, operator: Key, name: str, *, stores: bool = True) -> None:
        self.key = Key(nkeys.PREFIX_BYTE_ACCOUNT)
        limits = {**dict.fromkeys(UNLIMITED, -1), "wildcards": True}
        limits |= dict.fromkeys(STREAMS, -1 if stores else 0)
        self.jwt = signed(operator, self.key, name, {"type": "account", "limits": limits})

    def user(self, file: Path, publish: Sequence[str], subscribe: Sequence[str]) -> Path:
        """Write the credentials of a user who may publish and subscribe to these subjects alone."""
        key = Key(nkeys.PREFIX_BYTE_USER)
        allowed = {"pub": {"allow": list(publish)}, "sub": {"allow": list(subscribe)}}
        limits = dict.fromkeys(("subs", "data", "payload"), -1)
        jwt = signed(self.key, key, file.stem, {"type": "user", **allowed, **limits})
        file.write_text(
            f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{key.seed.decode()}\n------END USER NKEY SEED------\n"
        )
        file.chmod(0o600)
        return file


def signed(issuer: Key, subject: Key, name: str, claims: dict[str, Any]) -> str:
    """Return a claim about a key as a JWT."""
    body = {
        "jti": subject.public,
        "iat": ISSUED_S,
        "iss": issuer.public,
        "sub": subject.public,
        "name": name,
        "nats": {**claims, "version": 2},
    }
    head = ".".join(_encoded(msgspec.json.encode(part)) for part in (HEADER, body))
    return f"{head}.{_encoded(issuer.pair.sign(head.encode()))}"


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


@asynccontextmanager
async def serving(folder: Path, operator: Key, accounts: Sequence[Account]) -> AsyncGenerator[str]:
    """Run a server that knows these accounts alone; lend its URL."""
    folder.mkdir()
    (port,) = free_ports(1)
    system = Account(operator, "SYS", stores=False)
    (folder / "operator.jwt").write_text(signed(operator, operator, "O", {"type": "operator"}))
    known = "\n".join(f"{account.key.public}: {account.jwt}" for account in (system, *accounts))
    config = folder / "nats.conf"
    config.write_text(
        f'host: 127.0.0.1\nport: {port}\noperator: "{folder}/operator.jwt"\n'
        f"system_account: {system.key.public}\nresolver: MEMORY\n"
        f'resolver_preload {{\n{known}\n}}\njetstream {{ store_dir: "{folder}/store" }}\n'
    )
    log = folder / "log"
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            find_server(), "-c", str(config), stdout=out, stderr=out
        )
    try:
        async with asyncio.timeout(START_S):
            while "Server is ready" not in log.read_text():
                assert process.returncode is None, log.read_text()
                await asyncio.sleep(0.02)
        yield f"nats://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
