"""Advice for a database, a bus or an API server that cannot be reached, by its error."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.errors import ApiUnreachableError, BusUnreachableError, LedgerUnreachableError

_LEDGER = (
    ("password authentication failed", "correct the password in --ledger or PGPASSWORD"),
    ("no password supplied", "set the password in --ledger or PGPASSWORD"),
    ("root certificate file", "pass the CA's certificate: ?sslrootcert=FILE in --ledger"),
    (
        "certificate verify failed",
        "pass the CA of the server's certificate: ?sslrootcert=FILE in --ledger",
    ),
    ("no pg_hba.conf entry", "allow this host and user in the database's pg_hba.conf"),
    ('FATAL: role "', "name an existing user in --ledger, or create the role"),
    ('FATAL: database "', "create the database, then run `tidegate ledger migrate`"),
    ("lacks its tables", "run `tidegate ledger migrate` as the owner of the tables"),
    ("file is not a database", "name the ledger's SQLite file in --ledger"),
)
_BUS = (
    ("CA file", "pass the CA's certificate: --bus-ca FILE"),
    ("CERTIFICATE_VERIFY_FAILED", "pass the CA of the server's certificate: --bus-ca FILE"),
    ("Authorization", "correct the user and password in --bus, or pass --bus-credentials FILE"),
    ("FileNotFoundError", "pass an existing credentials file: --bus-credentials FILE"),
)
_API = (
    ("CERTIFICATE_VERIFY_FAILED", "add the server's CA to the kubeconfig's cluster"),
    ("Unauthorized", "renew the kubeconfig's credentials"),
)

_SIGNS = (
    (LedgerUnreachableError, _LEDGER),
    (BusUnreachableError, _BUS),
    (ApiUnreachableError, _API),
)


def advice(error: BaseException) -> str:
    """Return the remedy for an error; empty if it is unknown."""
    text = " ".join(_texts(error))
    for kind, signs in _SIGNS:
        if isinstance(error, kind):
            return next((to_do for sign, to_do in signs if sign in text), "")
    return ""


def _texts(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield f"{type(error).__name__} {error}"
        error = error.__cause__
