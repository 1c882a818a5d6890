"""A version with one migration more than this one has, which the test brings itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import migrations
from store.schema.version import revisions

NEWEST = revisions()[-1]
NEXT = f"{int(NEWEST) + 1:04}"
_HEAD = '''"""A column more."""

import sqlalchemy as sa
from alembic import op

from tidegate.errors import NotSupportedError

revision, down_revision = "{next}", "{newest}"
REBUILDS_REPORTS = {rebuilds}
READABLE_FROM = "{readable_from}"


'''
COLUMN = """\
def upgrade() -> None:
    op.add_column("report_workload", sa.Column("note", sa.String(), server_default=""))


def downgrade() -> None:
    op.drop_column("report_workload", "note")
"""
Newer = Callable[..., pytest.MonkeyPatch]


@pytest.fixture
def newer(tmp_path: Path) -> Iterator[Newer]:
    """Become that version: ``readable_from`` names its oldest readers, ``body`` is the migration.

    ``undo`` of what it returns is this version again.
    """
    patch = pytest.MonkeyPatch()

    def become(
        readable_from: str = NEWEST, *, rebuilds: bool = False, body: str = COLUMN
    ) -> pytest.MonkeyPatch:
        folder = tmp_path / "migrations"
        shutil.copytree(Path(str(migrations.__file__)).parent, folder, dirs_exist_ok=True)
        fields = {"next": NEXT, "newest": NEWEST, "readable_from": readable_from}
        head = _HEAD.format(**fields, rebuilds=rebuilds)
        (folder / "versions" / f"{NEXT}_more.py").write_text(head + body)
        patch.setattr(migrations, "__file__", str(folder / "__init__.py"))
        return patch

    yield become
    patch.undo()
