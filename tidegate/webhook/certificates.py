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


def renew_if_expiring(files: Files, names: Sequence[str], now: datetime) -> Files:
    """Return the files, renewed where one of them expires soon; else the same files.

    What cannot be read is made anew. While an authority is replaced the one before stays believed.
    """
    authority = files.get(AUTHORITY, b"")
    if not _is_valid_until(authority, now + AUTHORITY_LEFT) or not _matches_key(
        files.get(AUTHORITY_KEY), authority
    ):
        key = ec.generate_private_key(ec.SECP256R1())
        authority_pem = _certificate_pem(_make_authority(key, now))
        before = authority if _is_valid_until(authority, now) else b""
        files = {AUTHORITY: authority_pem + before, AUTHORITY_KEY: _private_key_pem(key)}
    certificate = files.get(CERTIFICATE, b"")
    lasts = _is_valid_until(certificate, now + LEFT) and _is_signed(certificate, files[AUTHORITY])
    if (
        not lasts
        or not _matches_key(files.get(KEY), certificate)
        or _subject_names(certificate) != sorted(names)
    ):
        key = ec.generate_private_key(ec.SECP256R1())
        signed = _certificate_pem(_make_certificate(key, names, files, now))
        files = {**files, CERTIFICATE: signed, KEY: _private_key_pem(key)}
    return files


def _is_valid_until(pem: bytes, until: datetime) -> bool:
    certificate = _parse_certificate(pem)
    return certificate is not None and certificate.not_valid_after_utc > until


def _matches_key(pem: bytes | None, certified: bytes) -> bool:
    """Return whether a key belongs to the first of these certificates."""
    certificate = _parse_certificate(certified)
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
        _load_chain(pem).verify_directly_issued_by(_load_chain(authority))
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _load_chain(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def _subject_names(pem: bytes) -> list[str]:
    certificate = _parse_certificate(pem)
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


def _parse_certificate(pem: bytes) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError:
        return None


def _make_authority(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = _name("tidegate-webhook-ca")
    return (
        _builder(key, now, AUTHORITY_VALID)
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs=True), critical=True)
        .sign(key, hashes.SHA256())
    )


def _make_certificate(
    key: ec.EllipticCurvePrivateKey, names: Sequence[str], files: Files, now: datetime
) -> x509.Certificate:
    authority = x509.load_pem_x509_certificate(files[AUTHORITY])
    signing = serialization.load_pem_private_key(files[AUTHORITY_KEY], None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey), "made here"
    return (
        _builder(key, now, VALID)
        .subject_name(_name(names[0][:64]))
        .issuer_name(authority.subject)
        .add_extension(x509.SubjectAlternativeName(list(map(_general_name, names))), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_key_usage(signs=False), critical=True)
        # Python from 3.13 on, and others that are strict, accept no certificate without it.
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False
        )
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
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _key_usage(*, signs: bool) -> x509.KeyUsage:
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


def _certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private_key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
