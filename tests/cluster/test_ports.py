"""Ports of servers are free, and stay theirs while they are down."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tidegate.cluster.ports import free_ports, lasting_ports

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def test_ports_are_different_and_can_be_listened_on() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.create_server(("127.0.0.1", port)):
            pass


@pytest.mark.skipif(not RANGE.exists(), reason="only Linux writes down who gets which ports")
def test_no_outgoing_connection_is_given_one() -> None:
    lasting = set(lasting_ports(RANGE.read_text()))
    assert set(free_ports(200)) <= lasting
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
    found = set(lasting_ports(outgoing))
    assert holds <= found
    assert not lacks & found
