"""The views with a ledger's data, the slider, signing in, keys, and what the page may load."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from tests.serve.browser.conftest import Open
from tidegate.contracts.decisions import PendingReason, PreemptionReason

FOLDER = Path(__file__).parents[3] / "tidegate" / "serve" / "page"
OTHERWISE = "clusterqueue/team-a.cpu=86;clusterqueue/team-a.memory=200Gi"
VIEWS = (
    ("?view=job&namespace=a&name=huge", ["pending", "ExceedsMaxQuota", "Position 1"]),
    ("?view=queue&queue=team-a", ["a/job-huge-d526e", "Borrowed", "ann"]),
    ("?view=cohorts", ["research", "team-b", "b/job-urgent"]),
    ("?view=money", ["2026-03", "Without a price", "Download as CSV"]),
    ("?view=trust", ["5a3e", "kim", "tidegate ledger verify"]),
    (f"?view=whatif&set={OTHERWISE}", ["team-a", "1 → 0", "6 jobs"]),
    ("?view=topology", ["No ResourceFlavor names a Topology"]),
    ("?view=search&text=huge", ["a/job-huge-d526e"]),
)
NARROW = {"width": 360, "height": 740}
THEN = "after event 46 of 79, 2026-03-02 08:40 UTC"


class Watched:
    """A page of which is noted what it asked for, and what went wrong in it."""

    def __init__(self, page: Page) -> None:
        self.page, self.asked, self.wrong = page, list[str](), list[str]()
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", self._say)

    def _say(self, message: Any) -> None:  # noqa: ANN401 - playwright's
        if message.type == "error" and "401" not in message.text and "403" not in message.text:
            self.wrong.append(message.text)


async def opened(browser: Browser, url: str, **options: Any) -> Watched:  # noqa: ANN401 - playwright's
    context = await browser.new_context(**options)
    watched = Watched(await context.new_page())
    await watched.page.goto(url)
    return watched


DARK = pytest.param({"color_scheme": "dark", "viewport": NARROW}, marks=pytest.mark.slow)


@pytest.mark.parametrize("options", [{}, DARK], ids=str)
async def test_each_view_answers_and_loads_nothing_from_elsewhere(
    browser: Browser, pages: Open, options: dict[str, Any]
) -> None:
    root = await pages("local")
    for query, texts in VIEWS:
        watched = await opened(browser, root + query, **options)
        for text in texts:
            await expect(watched.page.locator("main")).to_contain_text(text)
        assert watched.wrong == [], query
        assert {url for url in watched.asked if not url.startswith(root.removesuffix("look/"))} <= {
            url for url in watched.asked if url.startswith("blob:")
        }
        result = await Axe().run(watched.page)
        assert result.response["violations"] == [], (query, result.generate_report())
        wide = await watched.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, query


async def test_the_slider_takes_the_page_to_a_moment_and_the_link_keeps_it(
    browser: Browser, pages: Open
) -> None:
    watched = await opened(browser, await pages("local") + "?view=cohorts")
    page = watched.page
    await expect(page.locator("main")).to_contain_text("team-a")
    await page.locator("#slider").evaluate(
        "one => { one.value = 46; one.dispatchEvent(new Event('change')); }"
    )
    await expect(page.locator("#when")).to_have_text(THEN)
    row = page.locator("tr", has_text="team-a").first
    await expect(row.locator("td").nth(6)).to_have_text("12")
    assert "asOf=46" in page.url
    again = await opened(browser, page.url)
    await expect(again.page.locator("#when")).to_have_text(THEN)
    await again.page.locator("#now").click()
    await expect(again.page.locator("#when")).to_contain_text("now: 79 events")


async def test_a_time_takes_the_page_there(browser: Browser, pages: Open) -> None:
    page = (await opened(browser, await pages("local") + "?view=queue&queue=team-a")).page
    await expect(page.locator("main")).to_contain_text("team-a")
    await page.get_by_label("At (UTC)").fill("2026-03-02T08:50")
    await expect(page.locator("#when")).to_have_text("as it was: 2026-03-02T08:50:00Z")
    await expect(page.locator("main .lead")).to_contain_text("a/job-sweep-734ea is first")
    assert "asOf=2026-03-02T08" in page.url
    again = await opened(browser, page.url)
    await expect(again.page.get_by_label("At (UTC)")).to_have_value("2026-03-02T08:50")


async def test_an_account_without_a_right_is_refused_and_one_with_it_is_answered(
    browser: Browser, pages: Open
) -> None:
    watched = await opened(browser, await pages("asking") + "?view=job&namespace=a&name=sweep")
    page = watched.page
    await expect(page.get_by_role("heading", name="Who asks?")).to_be_visible()
    await page.get_by_label("Token").fill("forged")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("token")
    await page.get_by_label("Token").fill("ann")
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_contain_text("a/job-sweep")
    await expect(page.locator("main")).to_be_focused()
    assert "job-urgent" not in await page.content()
    await page.goto(page.url.partition("?")[0] + "?view=job&namespace=b&name=urgent")
    await expect(page.get_by_role("alert")).to_contain_text("may not get workloads or jobs in 'b'")


async def test_all_can_be_done_with_keys(browser: Browser, pages: Open) -> None:
    watched = await opened(browser, await pages("local"))
    page = watched.page
    await expect(page.get_by_label("Namespace")).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.get_by_text("Skip to the answer")).to_be_focused()
    await page.get_by_label("Namespace").focus()
    await page.keyboard.type("a")
    await page.keyboard.press("Tab")
    await page.keyboard.type("huge")
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_contain_text("a/job-huge-d526e")
    button = page.get_by_role("button", name="What would have to change?")
    await button.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_contain_text("cpu of on-demand from 8 to 86")


async def test_what_is_asked_to_be_otherwise_is_replayed(browser: Browser, pages: Open) -> None:
    watched = await opened(browser, await pages("local") + "?view=whatif")
    page = watched.page
    await page.get_by_label("What to change").fill("clusterqueue/team-a.cpu=nothing")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("nothing")
    await page.get_by_label("What to change").fill(OTHERWISE)
    await page.get_by_role("button", name="Replay").click()
    await expect(page.locator("tr", has_text="all")).to_contain_text("1 → 0")
    assert "set=clusterqueue" in page.url


async def test_what_a_tenant_wrote_is_text(browser: Browser, pages: Open) -> None:
    root = await pages("local")
    name = "<img src=x onerror=document.title='taken'>"
    watched = await opened(browser, f"{root}?view=job&namespace=a&name={name}")
    await expect(watched.page.get_by_role("alert")).to_contain_text("<img")
    assert await watched.page.title() == "Job \u2013 Tidegate"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("REASONS", (*get_args(PendingReason), "NotTried")),
        ("PREEMPTIONS", get_args(PreemptionReason)),
    ],
)
def test_the_page_has_plain_words_for_each_reason(name: str, words: tuple[str, ...]) -> None:
    text = (FOLDER / "words.js").read_text()
    table = re.search(rf"{name} = {{(.*?)}};", text, re.DOTALL)
    assert table is not None
    assert set(words) <= set(re.findall(r"^  (\w+): ", table[1], re.MULTILINE))


def test_each_file_of_the_page_is_loaded_at_once() -> None:
    index = (FOLDER / "index.html").read_text()
    names = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.js")}
    assert set(re.findall(r'(?:modulepreload" href|src)="([^"]+\.js)"', index)) == names


def test_no_file_of_the_page_names_a_place_elsewhere() -> None:
    files = [path for path in FOLDER.rglob("*") if path.suffix in {".js", ".html", ".css"}]
    assert len(files) > 8
    for path in files:
        text = path.read_text()
        assert "://" not in text, path
        assert "innerHTML" not in text, path
