"""What to do about a database, a bus or an API server that cannot be reached, by what it said."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.errors import ApiUnreachableError, BusUnreachableError, LedgerUnreachableError

_LEDGER = (
    ("password authentication failed", "give the right password: in --ledger, or PGPASSWORD"),
    ("no password supplied", "give the password: in --ledger, or PGPASSWORD"),
    ("root certificate file", "give the authority's certificate: ?sslrootcert=FILE in --ledger"),
    ("certificate verify failed", "give the right authority: ?sslrootcert=FILE in --ledger"),
    ("no pg_hba.conf entry", "have the database let this host and user in (pg_hba.conf)"),
    ('FATAL: role "', "give a user that the database knows in --ledger, or create the role"),
    ('FATAL: database "', "create the database, then `tidegate ledger migrate` makes its tables"),
    ("lacks its tables", "`tidegate ledger migrate` with the right to make tables"),
    ("file is not a database", "name the ledger's own file in --ledger"),
)
_BUS = (
    ("CA file", "give the authority's certificate: --bus-ca FILE"),
    ("CERTIFICATE_VERIFY_FAILED", "give the authority of the server's certificate: --bus-ca FILE"),
    ("Authorization", "give the right user and password in --bus, or --bus-credentials FILE"),
    ("FileNotFoundError", "give a credentials file that exists: --bus-credentials FILE"),
)
_API = (
    ("CERTIFICATE_VERIFY_FAILED", "put the server's authority into the kubeconfig's cluster"),
    ("Unauthorized", "renew the kubeconfig's credentials"),
)

_SIGNS = (
    (LedgerUnreachableError, _LEDGER),
    (BusUnreachableError, _BUS),
    (ApiUnreachableError, _API),
)


def advice(error: BaseException) -> str:
    """Return what to do about an error; empty if it does not say enough."""
    text = " ".join(_told(error))
    for kind, signs in _SIGNS:
        if isinstance(error, kind):
            return next((to_do for sign, to_do in signs if sign in text), "")
    return ""


def _told(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield f"{type(error).__name__} {error}"
        error = error.__cause__
