"""The five views' questions, and what the page says to them: docs/page.md is made from it.

``PICTURES=1`` writes the page anew; else it must say what the views say.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from playwright.async_api import Browser, Page, expect

from tests.serve.browser.conftest import Open

PAGE = Path(__file__).parents[3] / "docs" / "page.md"
HEAD = """\
# What the page answers

Made by the test of the page in a browser (`PICTURES=1 pytest tests/serve/browser`), over the ledger
that `tidegate ledger sample` writes: a question, the view that answers it, and what stands there.

| view | question | what it says |
| --- | --- | --- |
"""


class Asked(NamedTuple):
    """A question, and where on the page its answer stands."""

    view: str
    question: str
    query: str
    where: str  # a selector
    press: str = ""  # a button to press before


HUGE, SWEEP = "?view=job&namespace=a&name=huge", "?view=job&namespace=a&name=sweep"
QUEUE, THEN = "?view=queue&queue=team-a", "?view=cohorts&asOf=46"
LEAD = "main .lead"


def _fact(name: str) -> str:
    return f"main dl.facts > div:has(dt:text-is('{name}')) dd"


def _row(table: str, row: str = "") -> str:
    return f"[role=region][aria-label^='{table}'] tbody tr{row} >> nth=0"


QUESTIONS = (
    Asked("Job", "What does my job wait for?", HUGE, LEAD),
    Asked("Job", "Where does it stand, and who is ahead?", HUGE, _fact("Position")),
    Asked("Job", "When might it start?", f"{SWEEP}&asOf=51", _fact("Might start")),
    Asked(
        "Job", "When might one start that is not held up by its place?", HUGE, _fact("Might start")
    ),
    Asked("Job", "Who preempted it, and why?", SWEEP, "main p:has-text('It was preempted')"),
    Asked("Job", "What did that cost?", SWEEP, _row("Events of", ":has-text('WorkloadPreempted')")),
    Asked("Job", "How long did it wait and run?", SWEEP, "main ul.key"),
    Asked(
        "Job",
        "What would have to change?",
        HUGE,
        "main section [aria-live] ul",
        press="What would have to change?",
    ),
    Asked("Queue", "Who is first, and what does it wait for?", QUEUE, LEAD),
    Asked("Queue", "What becomes of its quota?", QUEUE, _row("Quota of")),
    Asked("Queue", "Who holds the quota?", QUEUE, _row("Workloads with quota")),
    Asked("Cohorts", "Who borrows?", "?view=cohorts", LEAD),
    Asked("Cohorts", "Who borrowed after event 46?", THEN, LEAD),
    Asked("Cohorts", "When was that?", THEN, "#when"),
    Asked(
        "Cohorts",
        "Which workload was preempted last, and for which?",
        "?view=cohorts",
        _row("Newest first"),
    ),
    Asked("Money", "Which team used most this month?", "?view=money", _row("By team")),
    Asked("Money", "What did a queue borrow and leave?", "?view=money", _row("Unit hours")),
    Asked("Trust", "Was the history altered?", "?view=trust", LEAD),
    Asked("Trust", "Was anything missed?", "?view=trust", "main h3:has-text('missed') + *"),
    Asked(
        "Trust",
        "Who changed a quota last?",
        "?view=trust",
        _row("Newest first", ":has-text('Queue')"),
    ),
)


async def _said(page: Page, root: str, asked: Asked) -> str:
    await page.goto(root + asked.query)
    if asked.press:
        await page.get_by_role("button", name=asked.press).click()
    place = page.locator(asked.where)
    await expect(place).to_be_visible()
    await expect(page.locator("[aria-busy]")).to_have_count(0)
    cells = await place.locator("td").all_inner_texts()
    heads = await place.locator("xpath=ancestor::table").locator("th").all_inner_texts()
    named = [f"{head}: {cell}" for head, cell in zip(heads, cells, strict=True) if cell.strip()]
    texts = [" ".join(text.split()) for text in named or [await place.inner_text()]]
    return "; ".join(texts).replace("|", "\\|")


async def test_the_page_answers_the_questions_as_documented(browser: Browser, pages: Open) -> None:
    root, page = await pages("local"), await browser.new_page()
    rows = [
        f"| {asked.view} | {asked.question} | {await _said(page, root, asked)} |\n"
        for asked in QUESTIONS
    ]
    if os.environ.get("PICTURES"):
        PAGE.write_text(HEAD + "".join(rows))
    assert PAGE.read_text() == HEAD + "".join(rows)
