"""The webhook's own authority and certificate: created, and renewed before they expire.

Pure but for the randomness of keys; times are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY, AUTHORITY_KEY = "ca.crt", "ca.key"
CERTIFICATE, KEY = "tls.crt", "tls.key"
AUTHORITY_VALID, AUTHORITY_LEFT = timedelta(days=3650), timedelta(days=365)
VALID, LEFT = timedelta(days=90), timedelta(days=30)
"""For how long a certificate is made, and how much of that is left when it is made anew."""
_SKEW = timedelta(minutes=5)
Files = Mapping[str, bytes]
"""PEM by the names above; ``ca.crt`` may have several certificates, the newest first."""


def renewed(files: Files, names: Sequence[str], now: datetime) -> Files:
    """Return the files, renewed where one of them expires soon; else the same files.

    What cannot be read is made anew. While an authority is replaced the one before stays believed.
    """
    authority = files.get(AUTHORITY, b"")
    if not _lasts(authority, now + AUTHORITY_LEFT) or not _fits(
        files.get(AUTHORITY_KEY), authority
    ):
        key = ec.generate_private_key(ec.SECP256R1())
        authority_pem = _pem(_authority(key, now))
        before = authority if _lasts(authority, now) else b""
        files = {AUTHORITY: authority_pem + before, AUTHORITY_KEY: _private(key)}
    certificate = files.get(CERTIFICATE, b"")
    lasts = _lasts(certificate, now + LEFT) and _is_signed(certificate, files[AUTHORITY])
    if not lasts or not _fits(files.get(KEY), certificate) or _names(certificate) != sorted(names):
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _pem(_certificate(key, names, files, now))
        files = {**files, CERTIFICATE: signed, KEY: _private(key)}
    return files


def _lasts(pem: bytes, until: datetime) -> bool:
    certificate = _read(pem)
    return certificate is not None and certificate.not_valid_after_utc > until


def _fits(pem: bytes | None, certified: bytes) -> bool:
    """Return whether a key belongs to the first of these certificates."""
    certificate = _read(certified)
    try:
        key = serialization.load_pem_private_key(pem or b"", None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return (
        isinstance(key, ec.EllipticCurvePrivateKey)
        and certificate is not None
        and certificate.public_key() == key.public_key()
    )


def _is_signed(pem: bytes, authority: bytes) -> bool:
    """Return whether a certificate was signed by the newest authority."""
    try:
        _loaded(pem).verify_directly_issued_by(_loaded(authority))
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _loaded(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def _names(pem: bytes) -> list[str]:
    certificate = _read(pem)
    if certificate is None:
        return []
    try:
        alternative_names = certificate.extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        ).value
    except x509.ExtensionNotFound:
        return []
    addresses = [str(address) for address in alternative_names.get_values_for_type(x509.IPAddress)]
    return sorted([*alternative_names.get_values_for_type(x509.DNSName), *addresses])


def _read(pem: bytes) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError:
        return None


def _authority(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = _name("tidegate-webhook-ca")
    return (
        _builder(key, now, AUTHORITY_VALID)
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(key, hashes.SHA256())
    )


def _certificate(
    key: ec.EllipticCurvePrivateKey, names: Sequence[str], files: Files, now: datetime
) -> x509.Certificate:
    authority = x509.load_pem_x509_certificate(files[AUTHORITY])
    signing = serialization.load_pem_private_key(files[AUTHORITY_KEY], None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey), "made here"
    return (
        _builder(key, now, VALID)
        .subject_name(_name(names[0][:64]))
        .issuer_name(authority.subject)
        .add_extension(x509.SubjectAlternativeName(list(map(_place, names))), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_usage(signs=False), critical=True)
        .sign(signing, hashes.SHA256())
    )


def _builder(
    key: ec.EllipticCurvePrivateKey, now: datetime, valid: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + valid)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _place(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
