"""The page in other shapes: long names, paper, a redraw while it is used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from playwright.async_api import Browser, Page, Route, ViewportSize, expect

from tests.parts.sample import filled
from tests.serve.browser.conftest import Open, serving
from tidegate.cli.sample import ledger as sample
from tidegate.cli.sample.story import LISTED, STORY
from tidegate.contracts.codec import decode_observation, encode
from tidegate.contracts.observations import ClusterQueueObserved, Observation
from tidegate.serve.auth.callers import Authenticator
from tidegate.serve.auth.limits import RateLimiter
from tidegate.serve.auth.rights import Rights

NO_AUTH = Authenticator(None, None, RateLimiter(1_000)), Rights(None)
LONGEST = 63
NAMES = {
    text: (text + "-" + "unbroken" * LONGEST)[: LONGEST - 1] + "z"
    for text in ("team-a", "team-b", "research", "on-demand", "a", "b", "sweep", "huge", "ann")
}
"""What the sample calls something, and a name as long as Kubernetes allows."""
DOTS = {"team-a": "team-a.v1.2", "research": "lab.example.com", "on-demand": "spot.v1-0"}
NARROW, WIDE = ViewportSize(width=360, height=740), ViewportSize(width=1920, height=1080)
VIEWS = (
    "?view=job&namespace={a}&name={huge}",
    "?view=job&namespace={a}&name={sweep}",
    "?view=queue",
    "?view=queue&queue={team-a}",
    "?view=cohorts",
    "?view=cohorts&of={team-a}",
    "?view=money",
    "?view=trust",
    "?view=whatif&set=clusterqueue/{team-a}.cpu=86",
    "?view=search&text={team-a}",
)
WITHOUT = """() => [...document.querySelectorAll("body :not(.unseen, .skip)")].filter((one) => {
  const { right, width } = one.getBoundingClientRect();
  return width && right > innerWidth + 1 && !one.closest(".scroll");
}).map((one) => one.outerHTML.slice(0, 200))"""
"""Elements whose right end is outside of the window, where no table has a bar of its own."""

BROKEN = r"""() => [...document.querySelectorAll("main td:not(.long)")].filter((one) => {
  const range = document.createRange();
  range.selectNodeContents(one);
  const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top / 4)));
  return /^\w+$/.test(one.textContent) && tops.size > 1;
}).map((one) => one.textContent)"""
"""Short words that stand on more than one line."""
FOCUS = """() => {
  const one = document.activeElement, header = document.querySelector("header");
  const below = header.contains(one) ? null : header.getBoundingClientRect().bottom;
  return [one.getBoundingClientRect().top, below, getComputedStyle(one).outlineStyle];
}"""
"""Of what has the focus: its upper edge, the header's lower one, and its outline."""


def renamed(observation: Observation, names: dict[str, str]) -> Observation:
    """Return an observation in which things are called otherwise."""
    text = encode(observation).decode()
    for old, new in names.items():
        text = text.replace(f'"{old}"', f'"{new}"').replace(f'"{old}/job-', f'"{new}/job-')
        text = text.replace(f"/job-{old}-", f"/job-{new}-")
    return decode_observation(text.encode())


@contextmanager
def changed(path: Path, change: Callable[[Observation], Iterable[Observation]]) -> Generator[str]:
    """Lend the path of the sample's ledger, of other observations in place of each."""
    listed = {key: tuple(chain(*map(change, rows))) for key, rows in LISTED.items()}
    story = [(at, tuple(chain(*map(change, rows)))) for at, rows in STORY]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sample, "LISTED", listed)
        patched.setattr(sample, "STORY", story)
        turns = list(sample.sample_turns())
    with filled(f"sqlite:///{path}", turns):
        yield str(path)


@pytest.fixture(scope="module", params=[NAMES, DOTS], ids=["long", "dots"])
def named(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, dict[str, str]]]:
    """Lend the path of the sample's ledger with other names, and these."""
    names: dict[str, str] = request.param
    path = tmp_path_factory.mktemp("named") / "ledger.db"
    with changed(path, lambda one: [renamed(one, names)]) as made:
        yield made, {**dict(zip(NAMES, NAMES, strict=True)), **names}


def many(observation: Observation) -> list[Observation]:
    """Return a ClusterQueue and as many others beside it as make tables long."""
    if not isinstance(observation, ClusterQueueObserved):
        return [observation]
    name = observation.name
    others = [replace(observation, name=f"{name}-{at}", uid=f"{name}-{at}") for at in range(40)]
    return [observation, *others]


def answered(status: int) -> Callable[[Route], Awaitable[None]]:
    """Return what answers a request with this status."""

    async def answer(route: Route) -> None:
        await route.fulfill(status=status, json={"message": f"of {status}"})

    return answer


async def drawn(browser: Browser, url: str, **options: Any) -> Page:  # noqa: ANN401 - playwright's
    page = await (await browser.new_context(**options)).new_page()
    await page.goto(url)
    await expect(page.locator("main h2").first).to_be_visible()
    await expect(page.locator("[aria-busy]")).to_have_count(0)
    return page


@pytest.mark.parametrize("window", [NARROW, WIDE], ids=["narrow", "wide"])
async def test_no_name_is_too_long_for_the_window(
    browser: Browser, named: tuple[str, dict[str, str]], window: ViewportSize
) -> None:
    path, names = named
    async with serving(path, NO_AUTH) as root:
        for view in VIEWS:
            page = await drawn(browser, root + view.format_map(names), viewport=window)
            await expect(page.get_by_role("alert")).to_have_count(0)
            assert await page.evaluate(WITHOUT) == [], view
            assert await page.evaluate("document.documentElement.scrollWidth") <= window["width"]
            if window is WIDE:
                regions = page.get_by_role("region")
                over = await regions.evaluate_all(
                    "all => all.map(e => e.scrollWidth - e.clientWidth)"
                )
                assert max(over, default=0) <= 0, view
            await page.context.close()


async def test_a_live_view_is_drawn_anew_as_its_user_left_it(
    browser: Browser, tmp_path: Path
) -> None:
    with changed(tmp_path / "ledger.db", many) as path:
        async with serving(path, NO_AUTH) as root:
            page = await (await browser.new_context(viewport=NARROW)).new_page()
            await page.clock.install()
            await page.goto(f"{root}?view=cohorts")
            region = page.get_by_role("region", name="Quota of cohorts")
            await page.get_by_role("button", name="Show all").click()
            await expect(region.locator("tbody tr")).to_have_count(2 * (2 * 41 + 1))
            await region.evaluate("one => { one.scrollLeft = 50; one.id = 'before'; }")
            await page.clock.run_for(6_000)
            await expect(page.locator("#before")).to_have_count(0)
            await expect(region.locator("tbody tr")).to_have_count(2 * (2 * 41 + 1))
            assert await region.evaluate("one => one.scrollLeft") == 50
            await page.get_by_label("Filter").fill("team-a-7")
            await expect(region.locator("tbody tr")).to_have_count(2)
            await page.get_by_label("Filter").blur()
            await region.evaluate("one => { one.id = 'before'; }")
            await page.clock.run_for(6_000)
            await expect(page.locator("#before")).to_have_count(0)
            await expect(region.locator("tbody tr")).to_have_count(2)


async def test_a_refresh_that_fails_leaves_the_answer(browser: Browser, pages: Open) -> None:
    page = await (await browser.new_context()).new_page()
    await page.clock.install()
    await page.goto(await pages("local") + "?view=cohorts")
    region = page.get_by_role("region", name="Quota of cohorts")
    await expect(region).to_be_visible()
    await page.route("**/v1/tree*", answered(503))
    await page.clock.run_for(6_000)
    await expect(page.locator("#when")).to_have_text("not refreshed: of 503")
    await expect(region).to_be_visible()
    await expect(page.get_by_role("alert")).to_have_count(0)


async def test_no_refresh_begins_while_one_is_awaited(browser: Browser, pages: Open) -> None:
    page = await (await browser.new_context()).new_page()
    await page.clock.install()
    await page.goto(await pages("local") + "?view=cohorts")
    await expect(page.get_by_role("region", name="Quota of cohorts")).to_be_visible()
    held = list[Route]()
    await page.route("**/v1/tree*", lambda route: held.append(route))  # noqa: PLW0108 - playwright marks it
    async with page.expect_request("**/v1/tree*"):
        await page.clock.run_for(6_000)
    await page.clock.run_for(60_000)
    assert len(held) == 1
    await held[0].continue_()
    await expect(page.locator("[aria-busy]")).to_have_count(0)
    async with page.expect_request("**/v1/tree*"):
        await page.clock.run_for(6_000)


async def test_who_asks_too_much_at_once_is_answered_later(browser: Browser, pages: Open) -> None:
    page = await (await browser.new_context()).new_page()
    await page.route("**/v1/costs*", answered(429), times=2)
    await page.goto(await pages("local") + "?view=money")
    await expect(page.get_by_role("region", name="By team")).to_be_visible()


async def test_a_redraw_is_not_read_out_and_a_new_view_is(browser: Browser, pages: Open) -> None:
    page = await drawn(browser, await pages("local") + "?view=cohorts")
    live = "main, main [aria-live]"
    assert await page.locator(live).evaluate_all("all => all.map(one => one.ariaLive)") == [None]
    await expect(page.locator("#said")).to_have_text("Cohorts over time")
    await page.get_by_role("link", name="Trust").click()
    await expect(page.locator("#said")).to_have_text("Trust")


async def test_who_asks_by_keys_goes_on_from_the_answer(browser: Browser, pages: Open) -> None:
    page = await drawn(browser, await pages("local"))
    await page.get_by_label("Namespace").fill("a")
    await page.get_by_label("Job or Workload").fill("huge")
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_contain_text("a/job-huge-d526e")
    await expect(page.locator("main")).to_be_focused()
    await page.locator("#slider").focus()
    await page.keyboard.press("ArrowLeft")
    await expect(page.locator("#when")).to_contain_text("after event 78")
    await expect(page.locator("#slider")).to_be_focused()
    now = page.get_by_role("button", name="Now")
    await expect(now).to_be_enabled()  # the slider's words stand before its moment is drawn
    await now.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()


async def test_paper_is_white_and_shows_all_rows(browser: Browser, tmp_path: Path) -> None:
    with changed(tmp_path / "ledger.db", many) as path:
        async with serving(path, NO_AUTH) as root:
            page = await drawn(browser, f"{root}?view=queue", color_scheme="dark")
            await page.emulate_media(media="print", color_scheme="dark")
            await page.evaluate("dispatchEvent(new Event('beforeprint'))")
            await expect(page.locator("main tbody tr")).to_have_count(2 * 41)
            body = page.locator("body")
            await expect(body).to_have_css("background-color", "rgb(246, 248, 250)")
            await expect(body).to_have_css("color", "rgb(22, 32, 42)")
            await expect(page.locator("nav, input, button").locator("visible=true")).to_have_count(
                0
            )
            await expect(page.locator("#when")).to_be_visible()
            await expect(page.locator("main h2").first).to_have_css("break-after", "avoid")
            region = page.get_by_role("region").first
            assert await region.evaluate("one => getComputedStyle(one).overflowX") == "visible"
            await page.set_viewport_size({"width": 760, "height": 1000})
            assert await page.evaluate(BROKEN) == []


async def test_nothing_hides_the_focus(browser: Browser, pages: Open) -> None:
    """Go back by keys from the end: what has the focus has an outline and is in sight."""
    page = await drawn(
        browser,
        await pages("local") + "?view=job&namespace=a&name=sweep",
        viewport={"width": 1100, "height": 600},
    )
    await page.get_by_role("link", name="API").focus()
    for _ in range(30):
        await page.keyboard.press("Shift+Tab")
        top, header, outline = await page.evaluate(FOCUS)
        if header is None:
            break
        assert outline != "none"
        assert top >= header - 1
    else:
        pytest.fail("the header is never reached")
