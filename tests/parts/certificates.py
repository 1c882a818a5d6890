"""A certificate that signs itself, for servers that tests begin on loopback."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


def self_signed(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, names: Sequence[str], valid: timedelta
) -> bytes:
    """Return the PEM of a certificate for 127.0.0.1 and some DNS names; it is its own authority."""
    now, name = datetime.now(UTC), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    subjects = [x509.IPAddress(IPv4Address("127.0.0.1")), *map(x509.DNSName, names)]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + valid)
        .add_extension(x509.SubjectAlternativeName(subjects), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


def write_certificate(folder: Path, names: Sequence[str]) -> tuple[Path, Path]:
    """Write a certificate of a day and its key into a folder; return both paths."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate, private = folder / "serve.crt", folder / "serve.key"
    certificate.write_bytes(self_signed(key, names, DAY))
    form = serialization.PrivateFormat.PKCS8
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    )
    return certificate, private
