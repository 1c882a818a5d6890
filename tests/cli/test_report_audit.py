"""What somebody with the database's password may change beside the events, and is found out.

Every tampering, and the command that finds it, is in ``tests.cli.tamperings``.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from store.access.engine import open_engine
from tests.cli.conftest import Tidegate


def test_a_ledger_that_nobody_changed_has_nothing_to_find(tidegate: Tidegate, sample: Path) -> None:
    told = tidegate("reports", "verify", "--ledger", str(sample))
    assert (told.exit_code, told.stdout) == (0, "")


@pytest.mark.real
def test_postgresql_is_compared_by_its_own_words(tidegate: Tidegate, remote: str) -> None:
    told = tidegate("reports", "verify", "--ledger", remote)
    assert (told.exit_code, told.stdout) == (0, "")
    engine = open_engine(remote)
    with engine.connect() as conn:
        conn.execute(text("DROP VIEW queues"))
        conn.execute(text("CREATE VIEW queues AS SELECT 'team-a' AS cluster_queue"))
        conn.commit()
    found = tidegate("reports", "verify", "--ledger", remote).stdout
    engine.dispose()
    assert found.startswith("view queues: ")
