"""The page over two partitions: each event is named with its own, and the slider takes times."""

from __future__ import annotations

from playwright.async_api import Browser, expect

from tests.serve.browser.conftest import browser, serving
from tests.serve.partitions.conftest import NO_AUTH

__all__ = ["browser"]


async def test_a_job_that_moved_has_both_its_histories(browser: Browser, moved: str) -> None:
    async with serving(moved, NO_AUTH) as url:
        page = await browser.new_page()
        await page.goto(f"{url}?view=job&namespace=team&name=first-runs")
        await expect(page.get_by_role("heading", name="Before, in partition 0")).to_be_visible()
        await expect(page.get_by_role("link", name="1/36", exact=True)).to_be_visible()
        await page.get_by_role("link", name="0/36", exact=True).click()
        await expect(page.locator("#when")).to_contain_text(
            "after event 0/36 of 87, 2025-06-15 15:06"
        )
        await expect(page.locator("#answer")).to_contain_text("first-runs runs in first")
        await expect(page.get_by_role("heading", name="Before, in")).to_have_count(0)


async def test_the_slider_takes_all_partitions_to_a_time(browser: Browser, moved: str) -> None:
    async with serving(moved, NO_AUTH) as url:
        page = await browser.new_page()
        await page.goto(f"{url}?view=queue")
        await expect(page.locator("#answer")).to_contain_text("first")
        released = page.locator("#slider")
        await released.fill("1750000013")  # between release and taking
        await released.dispatch_event("change")
        await expect(page).to_have_url(f"{url}?view=queue&asOf=2025-06-15T15%3A06%3A53Z")
        await expect(page.locator("#answer")).to_contain_text("second")
        await expect(page.locator("#answer")).not_to_contain_text("first")


async def test_each_partitions_chain_is_reported(browser: Browser, moved: str) -> None:
    async with serving(moved, NO_AUTH) as url:
        page = await browser.new_page()
        await page.goto(f"{url}?view=trust")
        await expect(page.locator("#answer")).to_contain_text("up to event 0/46 and 1/41.")
        for number in range(2):
            await expect(page.locator("#answer")).to_contain_text(f"ledger-{number}")
        await expect(page.get_by_role("cell", name="1/12", exact=True)).to_be_visible()
