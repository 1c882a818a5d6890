"""``python -m migrations``: bring a ledger up to date as its owner, and give others their rights.

The environment says which ledger (``TIDEGATE_LEDGER``) and, in PostgreSQL, which role may append
to it (``TIDEGATE_GRANT_TO``) and which may read it (``TIDEGATE_GRANT_READING_TO``).
"""

from __future__ import annotations

import os
import sys

from store.grants import grant
from store.migrate import upgrade
from tidegate.errors import TidegateError


def main() -> int:
    """Migrate and grant; return the process's exit code."""
    ledger = os.environ.get("TIDEGATE_LEDGER", "")
    writer = os.environ.get("TIDEGATE_GRANT_TO", "")
    reader = os.environ.get("TIDEGATE_GRANT_READING_TO", "")
    if not ledger:
        sys.stderr.write("Set TIDEGATE_LEDGER to the ledger's URL.\n")
        return 2
    try:
        upgrade(ledger)
        if writer or reader:
            grant(ledger, writer=writer, reader=reader)
    except TidegateError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
