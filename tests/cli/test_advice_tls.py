"""What is advised where PostgreSQL's certificate is not trusted, or its authority's file lacks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tidegate
from tests.cli.test_advice import advised
from tests.parts.postgresql import Process, needed_binaries, owned_folder, owner, wait_for
from tidegate.cluster.go.credentials import write_credentials
from tidegate.ports import free_ports

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def over_tls() -> Iterator[tuple[str, Path]]:
    """Lend the URL of a PostgreSQL over TLS, and the folder of its certificate."""
    programs = needed_binaries()
    (port,) = free_ports(1)
    with owned_folder() as folder:
        made = ["-D", str(folder / "data"), "-U", "tidegate", "-A", "trust"]
        subprocess.run([programs / "initdb", *made], check=True, capture_output=True, **owner())
        write_credentials(folder, "https://127.0.0.1")
        for name in ("tls.crt", "tls.key"):
            os.chown(folder / name, owner().get("user", -1), owner().get("group", -1))
        settings = ("listen_addresses=127.0.0.1", f"port={port}", "ssl=on")
        files = (f"ssl_cert_file={folder}/tls.crt", f"ssl_key_file={folder}/tls.key")
        with Process(programs, folder, *settings, *files):
            url = f"postgresql://tidegate@127.0.0.1:{port}/postgres?sslmode=verify-full"
            wait_for(f"{url}&sslrootcert={folder}/tls.crt")
            yield url, folder


def test_a_file_that_is_not_there(tidegate: Tidegate, over_tls: tuple[str, Path]) -> None:
    url, folder = over_tls
    to_do = "pass the CA's certificate: ?sslrootcert=FILE in --ledger"
    assert advised(tidegate, f"{url}&sslrootcert={folder}/nowhere.crt") == to_do


def test_another_authority(tidegate: Tidegate, over_tls: tuple[str, Path], tmp_path: Path) -> None:
    write_credentials(tmp_path, "https://127.0.0.1")
    to_do = "pass the CA of the server's certificate: ?sslrootcert=FILE in --ledger"
    assert advised(tidegate, f"{over_tls[0]}&sslrootcert={tmp_path}/tls.crt") == to_do
