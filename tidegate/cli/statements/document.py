"""A statement's file: its content, its digest, a signed checkpoint, and its signature.

The digest is the SHA-256 of what the statement says, as JSON without white space in the order of
the fields below. Closing a month is an event of the ledger that names it: see docs/adr/0019.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec

from tidegate.cli.proving import checkpoints
from tidegate.cli.proving.checkpoints import Checkpoint, Claim
from tidegate.cli.statements.focus import COLUMNS, Row, Total
from tidegate.errors import SettingsError, TidegateError

FORM = "tidegate statement 1"
_DOMAIN = f"{FORM}\n".encode()
"""The prefix of the signed bytes, so that no other text of this key can pass for one."""


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """The usage of a ClusterQueue in a month, as of one event of the ledger."""

    form: str = FORM
    ledger_id: str
    cluster: str
    partition: int
    cluster_queue: str
    month: str  # 2026-03
    begin: str  # its first moment, UTC
    end: str  # the first moment behind it, UTC
    seq: int  # the newest event that was looked at
    hash: str  # that one's, hexadecimal
    at: str  # that one's time, UTC
    totals: tuple[Total, ...] = ()
    unpriced: tuple[str, ...] = ()  # "<resource> of <flavor>" without a price on some day
    rows: tuple[Row, ...] = ()  # FOCUS columns: see tidegate.cli.statements.focus


class StatementFile(msgspec.Struct, frozen=True, kw_only=True):
    """A statement's file."""

    statement: Statement
    digest: str  # SHA-256 of the statement, hexadecimal
    checkpoint: Checkpoint  # of the statement's seq
    signature: str  # Ed25519 over the digest, by the checkpoint's key, hexadecimal


class StatementError(TidegateError):
    """A statement is not what was closed, or not what the ledger gives."""


def statement_digest(statement: Statement) -> str:
    """Return a statement's digest, hexadecimal."""
    return sha256(msgspec.json.encode(statement)).hexdigest()


def signed_statement_file(statement: Statement, claim: Claim, key_file: Path) -> bytes:
    """Return a statement's file, signed.

    Raises:
        SettingsError: the file is no Ed25519 private key.
        NotSupportedError: this installation lacks cryptography.
    """
    digest = statement_digest(statement)
    closed = StatementFile(
        statement=statement,
        digest=digest,
        checkpoint=msgspec.json.decode(checkpoints.sign_claim(claim, key_file), type=Checkpoint),
        signature=checkpoints.sign_text(_DOMAIN, digest, key_file),
    )
    return msgspec.json.format(msgspec.json.encode(closed)) + b"\n"


def read_statement(file: Path) -> StatementFile:
    """Return what a file says, once its digest is proven.

    Raises:
        SettingsError: it is not there, or no statement.
    """
    try:
        closed = msgspec.json.decode(file.read_bytes(), type=StatementFile)
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from error
    except msgspec.DecodeError as error:
        raise SettingsError(f"{file} is no statement: {error}") from error
    if closed.statement.form != FORM:
        raise SettingsError(f"{file} is a statement of another form: {closed.statement.form!r}.")
    if any(set(row) != set(COLUMNS) for row in closed.statement.rows):
        raise SettingsError(f"{file} is no statement: a row has other columns.")
    if statement_digest(closed.statement) != closed.digest:
        raise StatementError(f"{file} was altered: its digest is another.")
    return closed


def verify_statement(file: Path, public_key_file: Path) -> StatementFile:
    """Return what a file says, once its signature and its checkpoint's are proven.

    Raises:
        CheckpointError: another key signed it, or it was altered.
        SettingsError: a file is not there, or not what it should be.
    """
    closed = read_statement(file)
    claim = checkpoints.verify_signature(closed.checkpoint, public_key_file, str(file))
    checkpoints.verify_text(_DOMAIN, closed.digest, closed.signature, public_key_file, str(file))
    statement = closed.statement
    claimed = (claim.ledger_id, claim.partition, claim.seq, claim.hash)
    if claimed != (statement.ledger_id, statement.partition, statement.seq, statement.hash):
        raise StatementError(f"{file} bears a checkpoint of another event than its own.")
    return closed
