"""Ports of servers are free, and stay theirs while they are down."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tidegate.ports import KEPT_S, free_ports, lasting_ports

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def test_ports_are_different_and_can_be_listened_on() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


def test_a_port_that_was_given_out_is_not_given_out_again_for_hours(tmp_path: Path) -> None:
    ours = free_ports(60)
    first = free_ports(20, tmp_path, ours)
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == set(map(str, first))
    assert {*first, *free_ports(40, tmp_path, ours)} == set(ours)
    with pytest.raises(OSError, match="Fewer than 1 ports"):
        free_ports(1, tmp_path, ours)


def test_no_port_that_was_given_to_another_process_is_listened_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = free_ports(20)
    (given,) = free_ports(1, tmp_path, ours)
    tried, listen = list[int](), socket.create_server

    def note(address: tuple[str, int]) -> socket.socket:
        tried.append(address[1])
        return listen(address)

    monkeypatch.setattr(socket, "create_server", note)
    assert sorted(free_ports(19, tmp_path, ours)) == sorted(tried)
    assert given not in tried


def test_a_port_in_use_is_given_out_once_it_is_free(tmp_path: Path) -> None:
    ours = free_ports(1)
    with socket.create_server(("127.0.0.1", ours[0])), pytest.raises(OSError, match="Fewer"):
        free_ports(1, tmp_path, ours)
    assert free_ports(1, tmp_path, ours) == ours


def test_a_port_is_given_out_again_once_its_note_is_old(tmp_path: Path) -> None:
    ours = free_ports(1)
    long_ago_s = time.time() - KEPT_S - 1
    os.utime(_touched(tmp_path / str(ours[0])), (long_ago_s, long_ago_s))
    (port,) = free_ports(1, tmp_path, ours)
    assert (tmp_path / str(port)).stat().st_mtime > long_ago_s + KEPT_S / 2


def _touched(path: Path) -> Path:
    path.touch()
    return path


def test_two_processes_that_ask_at_once_are_given_different_ports(tmp_path: Path) -> None:
    ours = free_ports(90)
    script = "import sys, pathlib; from tidegate.ports import free_ports as f\n"
    script += "print(*f(30, pathlib.Path(sys.argv[1]), [int(one) for one in sys.argv[2:]]))"
    command = [sys.executable, "-c", script, str(tmp_path), *map(str, ours)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    given = [int(port) for run in runs for port in run.communicate()[0].split()]
    assert sorted(given) == sorted(ours)


@pytest.mark.skipif(not RANGE.exists(), reason="only Linux writes down the range of these ports")
def test_no_outgoing_connection_is_given_one() -> None:
    lasting = set(lasting_ports(RANGE.read_text()))
    assert set(free_ports(20)) <= lasting
    with socket.create_server(("127.0.0.1", 0)) as given:
        assert given.getsockname()[1] not in lasting


@pytest.mark.parametrize(
    ("outgoing", "holds", "lacks"),
    [
        ("32768\t60999\n", {10_240, 32_767, 61_000, 65_535}, {32_768, 60_999}),
        ("", {10_240, 32_767}, {32_768, 65_535}),
        ("1024 65535", {10_240, 65_535}, {1_024}),  # nothing is left, so nothing is left out
    ],
)
def test_what_is_outside_of_a_range(outgoing: str, holds: set[int], lacks: set[int]) -> None:
    numbers = set(lasting_ports(outgoing))
    assert holds <= numbers
    assert not lacks & numbers
