"""Lists that one answer does not hold: asked part by part, as of one moment, or cut."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from playwright.async_api import Browser, Route, expect

from tests.serve.browser.conftest import Open


class TwoRows:
    """Lets a list have parts of two rows, and notes as of what each is asked and answered."""

    def __init__(self) -> None:
        self.asked = list[str]()
        self.answered = list[str]()

    async def __call__(self, route: Route) -> None:
        url = re.sub(r"limit=\d+", "limit=2", route.request.url)
        self.asked += parse_qs(urlsplit(url).query).get("asOf", [""])
        answer = await route.fetch(url=url)
        self.answered.append(answer.headers["tidegate-seq"])
        await route.fulfill(response=answer)


async def test_a_list_of_several_parts_is_shown_whole_and_as_of_one_moment(
    browser: Browser, pages: Open
) -> None:
    page, parts = await (await browser.new_context()).new_page(), TwoRows()
    await page.route("**/v1/tree*", parts)
    await page.goto(await pages("local") + "?view=cohorts")
    region = page.get_by_role("region", name="Quota of cohorts")
    await expect(region.locator("tbody tr")).to_have_count(6)
    first, *_ = parts.answered
    assert parts.answered == [first] * 3
    assert parts.asked == ["", first, first]


async def test_a_list_that_is_cut_says_so(browser: Browser, pages: Open) -> None:
    page = await (await browser.new_context()).new_page()
    await page.route("**/v1/search*", TwoRows())
    await page.goto(await pages("local") + "?view=search&text=job")
    await expect(page.get_by_text("There are more than these 2.")).to_be_visible()


async def test_a_server_that_is_behind_is_asked_again(browser: Browser, pages: Open) -> None:
    page, asked = await (await browser.new_context()).new_page(), list[str]()

    async def behind(route: Route) -> None:
        asked.append(route.request.url)
        await (route.fulfill(status=503, json={}) if len(asked) == 1 else route.continue_())

    await page.route("**/v1/tree*", behind)
    await page.goto(await pages("local") + "?view=cohorts")
    region = page.get_by_role("region", name="Quota of cohorts")
    await expect(region.locator("tbody tr")).to_have_count(6)
    assert asked[0] == asked[1]
