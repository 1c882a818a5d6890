"""On PostgreSQL: find what lasts by its name, and leave room beside rows that change often."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
REBUILDS_REPORTS = False
READABLE_FROM = "0004"

_LASTING = (
    ("report_workload", "workload", "removed_seq"),
    ("report_wait", "workload", "to_seq"),
    ("report_holding", "workload", "to_seq"),
    ("report_quota", "owner", "to_seq"),
    ("report_queue", "owner", "to_seq"),
    ("report_preemption", "workload", "released_seq"),
)
_CHANGING = ("report_workload", "report_wait", "report_holding", "report_usage")
_SETTINGS = {
    "fillfactor": "60",
    "autovacuum_vacuum_scale_factor": "0.02",
    "autovacuum_analyze_scale_factor": "0.02",
}


def upgrade() -> None:
    """Exchange the indexes; SQLite keeps those it has."""
    if op.get_bind().dialect.name != "postgresql":
        return
    for table, by, ended in _LASTING:
        op.drop_index(f"{table}_lasts", table)
        op.create_index(f"{table}_named", table, [by], postgresql_where=sa.text(f"{ended} IS NULL"))
    settings = ", ".join(f"{name} = {value}" for name, value in _SETTINGS.items())
    for table in _CHANGING:
        op.execute(f"ALTER TABLE {table} SET ({settings})")


def downgrade() -> None:
    """Exchange them back."""
    if op.get_bind().dialect.name != "postgresql":
        return
    for table, by, ended in _LASTING:
        op.drop_index(f"{table}_named", table)
        columns = [ended, "partition", by]
        op.create_index(
            f"{table}_lasts", table, columns, postgresql_where=sa.text(f"{ended} IS NULL")
        )
    for table in _CHANGING:
        op.execute(f"ALTER TABLE {table} RESET ({', '.join(_SETTINGS)})")
