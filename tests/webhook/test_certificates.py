"""The webhook's own certificate: what TLS believes, and when it is made anew."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from tidegate.webhook.certificates import (
    AUTHORITY,
    AUTHORITY_LEFT,
    AUTHORITY_VALID,
    CERTIFICATE,
    KEY,
    LEFT,
    VALID,
    Files,
    renew_if_expiring,
)

NOW, NAMES = datetime(2026, 1, 1, tzinfo=UTC), ("hook.system.svc", "127.0.0.1")
SECOND = timedelta(seconds=1)


@pytest.fixture(scope="module")
def made() -> Files:
    return renew_if_expiring({}, NAMES, NOW)


def handshake(server: Files, believed: bytes, folder: Path) -> str:
    """Shake hands in memory; return the name that the client was shown."""
    for name in (CERTIFICATE, KEY):
        (folder / name).write_bytes(server[name])
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    asking = ssl.create_default_context(cadata=believed.decode())
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = asking.wrap_bio(down, up, server_hostname=NAMES[0])
    other = serving.wrap_bio(up, down, server_side=True)
    for _ in range(4):
        for side in (client, other):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    shown = client.getpeercert()
    assert shown is not None
    return str(shown["subjectAltName"])


def test_a_client_of_the_authority_accepts_the_certificate(made: Files, tmp_path: Path) -> None:
    now = renew_if_expiring({}, NAMES, datetime.now(UTC))
    assert NAMES[0] in handshake(now, now[AUTHORITY], tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(now, made[AUTHORITY], tmp_path)


def test_nothing_is_made_anew_while_it_lasts(made: Files) -> None:
    assert renew_if_expiring(made, NAMES, NOW + VALID - LEFT - SECOND) == made


def test_a_certificate_near_its_end_is_made_anew_by_the_same_authority(made: Files) -> None:
    later = renew_if_expiring(made, NAMES, NOW + VALID - LEFT)
    assert later[CERTIFICATE] != made[CERTIFICATE]
    assert later[AUTHORITY] == made[AUTHORITY]


def test_an_authority_near_its_end_is_believed_beside_the_new_one(
    made: Files, tmp_path: Path
) -> None:
    later = renew_if_expiring(made, NAMES, NOW + AUTHORITY_VALID - AUTHORITY_LEFT)
    assert later[AUTHORITY].endswith(made[AUTHORITY])
    assert len(x509.load_pem_x509_certificates(later[AUTHORITY])) == 2
    once = renew_if_expiring({}, NAMES, datetime.now(UTC) - AUTHORITY_VALID + AUTHORITY_LEFT)
    twice = renew_if_expiring(once, NAMES, datetime.now(UTC))
    assert NAMES[0] in handshake(twice, twice[AUTHORITY], tmp_path)


@pytest.mark.parametrize("broken", [AUTHORITY, CERTIFICATE, KEY, "ca.key"])
@pytest.mark.parametrize("garbage", [b"", b"no certificate"])
def test_what_cannot_be_read_is_made_anew(made: Files, broken: str, garbage: bytes) -> None:
    mended = renew_if_expiring({**made, broken: garbage}, NAMES, NOW)
    assert mended[broken] not in (garbage, b"")
    assert renew_if_expiring(mended, NAMES, NOW) == mended


def test_other_names_ask_for_another_certificate(made: Files) -> None:
    other = renew_if_expiring(made, (*NAMES, "second.system.svc"), NOW)
    assert other[CERTIFICATE] != made[CERTIFICATE]
    assert renew_if_expiring(other, tuple(reversed((*NAMES, "second.system.svc"))), NOW) == other


@pytest.mark.parametrize(("mixed", "stays"), [(AUTHORITY, False), ("ca.key", False), (KEY, True)])
def test_files_that_do_not_belong_together_are_made_anew(
    mixed: str, *, stays: bool, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    mapping, other = renew_if_expiring({}, NAMES, now), renew_if_expiring({}, NAMES, now)
    mended = renew_if_expiring({**mapping, mixed: other[mixed]}, NAMES, now)
    assert NAMES[0] in handshake(mended, mended[AUTHORITY], tmp_path)
    assert (mended[AUTHORITY] == mapping[AUTHORITY]) is stays
    assert renew_if_expiring(mended, NAMES, now) == mended
