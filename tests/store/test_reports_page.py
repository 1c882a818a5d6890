"""The page docs/sql.md: what it says of each report, and each worked query on the sample.

``REWRITE=1`` writes the list of reports and every answer anew, for the diff to be read.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from store.access.engine import open_engine
from store.ledger import SqlLedger
from store.schema import migrate
from store.views.catalog import VIEWS
from store.views.columns import View
from tests.parts.postgresql import Server
from tests.parts.reports import rows
from tests.store.histories import LEASE_US
from tests.store.text import shown, table
from tidegate.cli.sample.ledger import sample_turns
from tidegate.contracts.entry import Positions

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
LIST = re.compile(r"(<!-- views:[^\n]*-->\n)(.*?)(<!-- /views -->)", re.DOTALL)
QUERY = re.compile(r"```sql\n(?P<query>.*?)\n```\n(?:\n```text\n(?P<answer>.*?)```\n)?", re.DOTALL)


@pytest.fixture
def sample(engine: Engine) -> Engine:
    """The sample's ledger."""
    ledger = SqlLedger(engine, clock_us=lambda: 0)
    ledger.begin_term("a", LEASE_US)
    for entries in sample_turns():
        ledger.append(1, entries[0].seq - 1, entries, Positions())
    return engine


def section(engine: Engine, view: View) -> str:
    current_rows = rows(engine, view.name)
    example = list(current_rows[0].values()) if current_rows else [""] * len(view.columns)
    head = f"### {view.name}\n\n{view.about}\n\n| column | unit | meaning | example |\n"
    return (
        head
        + "| --- | --- | --- | --- |\n"
        + "".join(
            f"| `{column.name}` | {column.unit} | {column.meaning} | {cell(value)} |\n"
            for column, value in zip(view.columns, example, strict=True)
        )
    )


def cell(value: object) -> str:
    return "" if value in {"", None} else f"`{shown(value)}`"


def test_the_page_lists_every_report_with_an_example(sample: Engine) -> None:
    expected = "\n".join(section(sample, view) for view in VIEWS.values())
    page = PAGE.read_text()
    if os.environ.get("REWRITE"):
        PAGE.write_text(LIST.sub(lambda match: match[1] + expected + match[3], page))
    match = LIST.search(PAGE.read_text())
    assert match is not None
    assert match[2] == expected


def answer(engine: Engine, query: str) -> str:
    with engine.begin() as conn:
        result = conn.execute(text(query))
        return table(result.keys(), result.all()) if result.returns_rows else ""


def test_every_worked_query_gives_what_the_page_says(sample: Engine) -> None:
    answers = {
        match["query"]: answer(sample, match["query"]) for match in QUERY.finditer(PAGE.read_text())
    }
    if os.environ.get("REWRITE"):
        rewrite(answers)
    kept = {match["query"]: match["answer"] or "" for match in QUERY.finditer(PAGE.read_text())}
    assert kept == answers
    assert len(kept) >= 15


def rewrite(answers: dict[str, str]) -> None:
    def filled(match: re.Match[str]) -> str:
        message = answers[match["query"]]
        block = f"\n```text\n{message}```\n" if message else ""
        return f"```sql\n{match['query']}\n```\n{block}"

    PAGE.write_text(QUERY.sub(filled, PAGE.read_text()))


@pytest.mark.real
def test_the_readers_role_reads_and_cannot_write(postgresql: Server) -> None:
    url = postgresql.new_database()
    engine = open_engine(url)
    migrate.upgrade(engine)
    [statements] = re.findall(r"```sql postgresql\n(.*?)\n```", PAGE.read_text(), re.DOTALL)
    with engine.begin() as conn:
        conn.execute(text("DROP ROLE IF EXISTS tidegate_reader"))
        for statement in statements.split(";"):
            conn.execute(text(statement))
    migrate.downgrade(engine, "base")  # a new version makes the views anew
    migrate.upgrade(engine)
    with engine.connect() as conn:
        conn.execute(text("SET ROLE tidegate_reader"))
        assert [conn.execute(text(f"SELECT * FROM {name}")).all() for name in VIEWS]  # noqa: S608
        with pytest.raises(Exception, match="permission denied"):
            conn.execute(text("DELETE FROM ledger_event"))
    engine.dispose()
    postgresql.drop(url)
    postgresql.execute("DROP ROLE tidegate_reader")
