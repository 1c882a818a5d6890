"""Keys, certificate, token and kubeconfig of a local control plane; created at each start."""

from __future__ import annotations

import base64
import secrets
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME, USER = "tidegate-go", "admin"
_VALID = timedelta(days=3650)


def write_credentials(folder: Path, url: str) -> None:
    """Write tls.crt, tls.key, service-account.key, tokens.csv and kubeconfig into a folder.

    The one user may do everything; only this user of the machine may read the files.
    """
    token, key = secrets.token_hex(16), ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(key)
    _write(folder / "tls.crt", certificate)
    _write(folder / "tls.key", _private_bytes(key))
    service_account = folder / "service-account.key"
    if not service_account.exists():  # tokens of service accounts outlive a restart
        _write(service_account, _private_bytes(ec.generate_private_key(ec.SECP256R1())))
    _write(folder / "tokens.csv", f"{token},{USER},{USER},system:masters\n".encode())
    _write(folder / "kubeconfig", _kubeconfig(url, certificate, token))


def _certificate(key: ec.EllipticCurvePrivateKey) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    places = [x509.IPAddress(IPv4Address("127.0.0.1")), x509.DNSName("localhost")]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName(places), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_bytes(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _kubeconfig(url: str, certificate: bytes, token: str) -> bytes:
    authority = base64.b64encode(certificate).decode()
    cluster = {"server": url, "certificate-authority-data": authority}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": NAME,
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": USER}}],
            "clusters": [{"name": NAME, "cluster": cluster}],
            "users": [{"name": USER, "user": {"token": token}}],
        },
        encoding="utf-8",
    )


def _write(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_bytes(content)
