"""Signed checkpoints: an auditor keeps them, so that rewritten history is detected.

A checkpoint is a small JSON file: which ledger, how far, the hash of the entry there, and an
Ed25519 signature over exactly those fields. An auditor with the file and the public key needs to
trust neither the database nor the bus.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from tidegate.errors import NotSupportedError, SettingsError, TidegateError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

Key = TypeVar("Key")
_OWNER_ONLY = 0o600
_DOMAIN = b"tidegate checkpoint 1\n"
"""The prefix of the signed bytes, so that no other text of this key can pass for one."""


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The signed claim: the head of a ledger, the tree of its turns, and the checkpoint before."""

    ledger_id: str
    cluster: str
    partition: int
    seq: int
    at_us: int  # of that entry
    hash: str  # of that entry, hexadecimal
    turns: int  # how many there are up to there
    peaks: tuple[str, ...]  # see ``tidegate.cli.proving.merkle``, hexadecimal
    before: str = ""  # SHA-256 of what the checkpoint before signed, hexadecimal; empty: the first


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, and the key that signed it."""

    claim: Claim
    key: str  # SHA-256 of the public key, hexadecimal: which key to look for
    signature: str  # Ed25519, hexadecimal


class CheckpointError(TidegateError):
    """A checkpoint is not what the key's holder signed."""


def generate_key(file: Path) -> Path:
    """Write a new private key for its owner only, the public one beside it; return the latter.

    Raises:
        FileExistsError: one of the files is there already.
        NotSupportedError: this installation lacks cryptography.
    """
    serialization, ed25519 = _cryptography()
    private = ed25519.Ed25519PrivateKey.generate()
    secret = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    beside = file.with_name(f"{file.name}.pub")
    with beside.open("xb") as public_file:
        public_file.write(public)
    with os.fdopen(
        os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "wb"
    ) as private_file:
        private_file.write(secret)
    return beside


def sign_claim(claim: Claim, key_file: Path) -> bytes:
    """Return a checkpoint's file.

    Raises:
        SettingsError: the file is no Ed25519 private key.
        NotSupportedError: this installation lacks cryptography.
    """
    return _checkpoint_file(claim, _load_private_key(key_file))


def claim_digest(claim: Claim) -> str:
    """Return the SHA-256 of what is signed of a claim, hexadecimal: the next one names it."""
    return sha256(_signed_bytes(claim)).hexdigest()


def read_checkpoint(file: Path) -> Checkpoint:
    """Return a file's checkpoint; its signature is not checked.

    Raises:
        SettingsError: it is not there, or no checkpoint.
    """
    try:
        return msgspec.json.decode(_read_bytes(file), type=Checkpoint)
    except msgspec.DecodeError as error:
        raise SettingsError(f"{file} is no checkpoint: {error}") from error


def verify_own(checkpoint: Checkpoint, key_file: Path, where: str) -> Claim:
    """Return what a checkpoint claims, once it is proven that this private key signed it.

    Raises:
        CheckpointError: another key signed it, or it was altered.
        SettingsError: the file is no Ed25519 private key.
        NotSupportedError: this installation lacks cryptography.
    """
    _verify_with_key(
        _load_private_key(key_file).public_key(),
        _signed_bytes(checkpoint.claim),
        checkpoint.signature,
        where,
        "this key",
    )
    return checkpoint.claim


def sign_text(domain: bytes, text: str, key_file: Path) -> str:
    """Return the signature over a text of a domain, hexadecimal.

    Raises:
        SettingsError: the file is no Ed25519 private key.
        NotSupportedError: this installation lacks cryptography.
    """
    return _load_private_key(key_file).sign(domain + text.encode()).hex()


def verify_file(file: Path, public_key_file: Path) -> Claim:
    """Return what a checkpoint claims, once its signature is proven.

    Raises:
        CheckpointError: another key signed it, or it was altered.
        SettingsError: a file is not there, is no checkpoint, or no Ed25519 public key.
        NotSupportedError: this installation lacks cryptography.
    """
    return verify_signature(read_checkpoint(file), public_key_file, str(file))


def verify_signature(checkpoint: Checkpoint, public_key_file: Path, where: str) -> Claim:
    """Return what a checkpoint claims, once its signature is proven; ``where`` it was read.

    Raises:
        CheckpointError: another key signed it, or it was altered.
        SettingsError: a signature is none, or the file is no Ed25519 public key.
        NotSupportedError: this installation lacks cryptography.
    """
    _verify(_signed_bytes(checkpoint.claim), checkpoint.signature, public_key_file, where)
    return checkpoint.claim


def verify_text(
    domain: bytes, text: str, signature: str, public_key_file: Path, where: str
) -> None:
    """Make sure that a text of a domain was signed.

    Raises:
        CheckpointError: another key signed it, or it was altered.
        SettingsError: a signature is none, or the file is no Ed25519 public key.
        NotSupportedError: this installation lacks cryptography.
    """
    _verify(domain + text.encode(), signature, public_key_file, where)


def _verify(signed: bytes, signature: str, public_key_file: Path, where: str) -> None:
    serialization, ed25519 = _cryptography()
    key = _load_key(public_key_file, serialization.load_pem_public_key)
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise SettingsError(f"{public_key_file} is not an Ed25519 public key.")
    _verify_with_key(key, signed, signature, where, f"the key in {public_key_file}")


def _verify_with_key(
    key: Ed25519PublicKey, signed: bytes, signature: str, where: str, signer: str
) -> None:
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an optional extra

    try:
        key.verify(bytes.fromhex(signature), signed)
    except ValueError as error:
        raise SettingsError(f"{where} has no signature: {error}") from error
    except InvalidSignature:
        raise CheckpointError(
            f"{where} was not signed by {signer}, or was altered since."
        ) from None


def _load_private_key(key_file: Path) -> Ed25519PrivateKey:
    serialization, ed25519 = _cryptography()
    key = _load_key(key_file, lambda data: serialization.load_pem_private_key(data, password=None))
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise SettingsError(f"{key_file} is not an Ed25519 private key.")
    private: Ed25519PrivateKey = key
    return private


def _checkpoint_file(claim: Claim, key: Ed25519PrivateKey) -> bytes:
    signature = key.sign(_signed_bytes(claim)).hex()
    checkpoint = Checkpoint(
        claim=claim, key=_key_fingerprint(key.public_key()), signature=signature
    )
    return msgspec.json.format(msgspec.json.encode(checkpoint)) + b"\n"


def _signed_bytes(claim: Claim) -> bytes:
    return _DOMAIN + msgspec.json.encode(claim, order="deterministic")


def _key_fingerprint(key: Ed25519PublicKey) -> str:
    return sha256(key.public_bytes_raw()).hexdigest()


def _load_key(file: Path, read: Callable[[bytes], Key]) -> Key:
    try:
        return read(_read_bytes(file))
    except ValueError as error:
        raise SettingsError(f"{file} is no key in PEM: {error}") from error


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from error


def _cryptography() -> tuple[Any, Any]:
    """Return cryptography's serialization and ed25519, which only checkpoints need here."""
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
    except ImportError as error:
        raise NotSupportedError(
            f"This installation cannot sign ({error}): pip install 'tidegate[checkpoints]'."
        ) from error
    return serialization, ed25519
