"""What people who use keys or a screen reader are told, and where their focus stays."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Browser, Page, Route, expect

from tests.serve.browser.conftest import Open, serving
from tests.serve.browser.test_shapes import NO_AUTH, changed, drawn, many


async def slid(page: Page) -> None:
    """Expect the slider to say what stands beside it."""
    words = await page.locator("#when").text_content()
    await expect(page.locator("#slider")).to_have_attribute("aria-valuetext", words or "-")


async def test_the_slider_says_what_stands_beside_it(browser: Browser, pages: Open) -> None:
    root = await pages("local")
    page = await drawn(browser, root + "?view=cohorts")
    await slid(page)
    await page.locator("#slider").evaluate(
        "one => { one.value = 46; one.dispatchEvent(new Event('input')); }"
    )
    await expect(page.locator("#when")).to_have_text("after event 46 of 79")
    await slid(page)
    page = await drawn(browser, root + "?view=cohorts&asOf=2026-03-02T08:50:00Z")
    await slid(page)


async def test_a_live_moment_is_not_read_out_and_a_failure_is(
    browser: Browser, pages: Open
) -> None:
    page = await (await browser.new_context()).new_page()
    await page.clock.install()
    await page.goto(await pages("local") + "?view=cohorts")
    await expect(page.get_by_role("region", name="Quota of cohorts")).to_be_visible()
    await expect(page.locator("#when")).to_have_attribute("aria-live", "off")
    await page.route("**/v1/tree*", lambda route: route.fulfill(status=503, json={"message": "no"}))
    await page.clock.run_for(6_000)
    await expect(page.locator("#said")).to_have_text("not refreshed: no")


async def test_a_refresh_that_was_asked_before_takes_no_focus(
    browser: Browser, pages: Open
) -> None:
    page = await (await browser.new_context()).new_page()
    await page.clock.install()
    await page.goto(await pages("local") + "?view=cohorts")
    link = page.get_by_role("region", name="Quota of cohorts").get_by_role("link").first
    await expect(link).to_be_visible()
    held = list[Route]()
    await page.route("**/v1/tree*", lambda route: held.append(route))  # noqa: PLW0108 - playwright marks it
    async with page.expect_request("**/v1/tree*"):
        await page.clock.run_for(6_000)
    await link.focus()
    await held[0].continue_()
    await expect(page.locator("[aria-busy]")).to_have_count(0)
    await expect(link).to_be_focused()


async def test_the_focus_goes_on_from_what_is_gone(browser: Browser, tmp_path: Path) -> None:
    with changed(tmp_path / "ledger.db", many) as path:
        async with serving(path, NO_AUTH) as root:
            page = await drawn(browser, f"{root}?view=queue")
            await page.get_by_role("button", name="Show all").focus()
            await page.keyboard.press("Enter")
            row = page.locator("main tbody tr").nth(60)
            await expect(row.get_by_role("link").first).to_be_focused()
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("link", name="All queues")).to_be_visible()
            await page.get_by_role("link", name="All queues").focus()
            await page.go_back()
            await expect(page.get_by_role("region", name="ClusterQueues")).to_be_visible()
            await expect(page.locator("main")).to_be_focused()


async def test_a_button_keeps_the_focus_while_it_is_answered(browser: Browser, pages: Open) -> None:
    page = await drawn(browser, await pages("local") + "?view=job&namespace=a&name=huge")
    held = list[Route]()
    await page.route("**/why-not*", lambda route: held.append(route))  # noqa: PLW0108 - playwright marks it
    button = page.get_by_role("button", name="What would have to change?")
    await button.focus()
    async with page.expect_request("**/why-not*"):
        await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    await expect(button).to_be_focused()
    await held[0].continue_()
    await expect(page.locator("main")).to_contain_text("cpu of on-demand from 8 to 86")
    await expect(button).to_be_focused()
    assert len(held) == 1
