"""``python -m migrations``: bring a ledger up to date as its owner, and give others their rights.

The environment says which ledger (``TIDEGATE_LEDGER``) and, in PostgreSQL, which role may append
to it (``TIDEGATE_GRANT_TO``) and which may read it (``TIDEGATE_GRANT_READING_TO``). Roles that
see only some namespaces' rows: ``TIDEGATE_GRANT_NAMESPACES="team_a=a,a-dev team_b=b"``.
"""

from __future__ import annotations

import os
import sys

from store.access.grants import grant
from store.access.tenants import apply_tenant_policies
from store.schema.migrate import upgrade
from tidegate.errors import NotSupportedError, TidegateError
from tidegate.urls import redacted


def main() -> int:
    """Migrate and grant; return the process's exit code."""
    ledger = os.environ.get("TIDEGATE_LEDGER", "")
    writer = os.environ.get("TIDEGATE_GRANT_TO", "")
    reader = os.environ.get("TIDEGATE_GRANT_READING_TO", "")
    tenants = os.environ.get("TIDEGATE_GRANT_NAMESPACES")
    if not ledger:
        sys.stderr.write("Set TIDEGATE_LEDGER to the ledger's URL.\n")
        return 2
    try:
        upgrade(ledger)
        if writer or reader:
            grant(ledger, writer=writer, reader=reader)
        if tenants is not None:
            apply_tenant_policies(ledger, _tenants(tenants))
    except TidegateError as error:
        sys.stderr.write(f"{redacted(str(error))}\n")
        return 1
    return 0


def _tenants(text: str) -> dict[str, list[str]]:
    """Read roles and their namespaces.

    Raises:
        NotSupportedError: it is not ``ROLE=NAMESPACE,...`` with spaces between the roles.
    """
    tenants = dict[str, list[str]]()
    for each in text.split():
        role, _, listed = each.partition("=")
        namespaces = [name for name in listed.split(",") if name]
        if not role or not namespaces or role in tenants:
            raise NotSupportedError(
                f"TIDEGATE_GRANT_NAMESPACES is ROLE=NAMESPACE,... each role once, not {each!r}."
            )
        tenants[role] = namespaces
    return tenants


if __name__ == "__main__":
    sys.exit(main())
