"""The page in Chromium on a large ledger: first content, all content, a filter and the slider.

A view that does not load within its time is reported as such, and the next one is opened.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from bench.serving.served import Server
from bench.serving.took import Took

WITHIN_MS, TIMES, FILTERS = 20_000, 3, ("queue-77", "cohort-5", "queue-1", "nothing", "9")
Place: TypeAlias = tuple[str, str]
"""Of a workload that waits: namespace and name."""
VIEWS = (
    ("Job", "?view=job&namespace={namespace}&name={name}"),
    ("Queue, all", "?view=queue"),
    ("Queue", "?view=queue&queue={queue}"),
    ("Cohorts", "?view=cohorts"),
    ("Money", "?view=money"),
    ("Trust", "?view=trust"),
    ("What if", "?view=whatif"),
    ("Topology", "?view=topology"),
    ("Search", "?view=search&text=train-99"),
)
_DONE = "main:not([aria-busy]):not(:has([aria-busy]))"
_ROWS = "document.querySelectorAll('main tbody tr').length"
_TYPED = """(input, text) => new Promise(done => {
  const begun = performance.now();
  input.value = text;
  input.dispatchEvent(new Event('input'));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
})"""
_MOVED = "(one, seq) => { one.value = seq; one.dispatchEvent(new Event('change')); }"


def looked(server: Server, places: list[Place], head: int) -> Iterator[tuple[str, list[Took]]]:
    """Open each view some times, each with an empty browser cache; then filter and slide.

    Yields no duration for content that did not load.
    """
    root = f"http://127.0.0.1:{server.port}/look/"
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        _page(browser).goto(root)  # what a browser does once is not measured
        for view, query in VIEWS:
            first, whole = list[Took](), list[Took]()
            for n in range(TIMES):
                namespace, name = places[n]
                url = root + query.format(namespace=namespace, name=name, queue=f"queue-{7 * n}")
                _within(lambda url=url: _shown(server, browser, url), [first, whole])  # type: ignore[misc]  # bound now
            yield f"{view}: first content", first
            yield f"{view}: all of it", whole
        yield "a filter over 1,000 queues", _filtered(browser, root)
        seqs = [head * part // 16 + part for part in range(1, 16)]
        yield "the slider to anywhere, in the browser", _slid(server, browser, root, seqs)
        steps = [head // 2 + 700 * n for n in range(10)]
        yield "the slider by 700 events, in the browser", _slid(server, browser, root, steps)
        browser.close()


def _within(measure: Callable[[], list[Took]], into: list[list[Took]]) -> None:
    """Measure, if it ends within its time."""
    try:
        for took, times in zip(measure(), into, strict=True):
            times.append(took)
    except (Error, AssertionError) as error:
        print(f"(did not come: {str(error).splitlines()[0]})", flush=True)


def _page(browser: Browser) -> Page:
    page = browser.new_context().new_page()
    page.set_default_timeout(WITHIN_MS)
    return page


def _shown(server: Server, browser: Browser, url: str) -> list[Took]:
    """Return what it took until the first heading of the view, and until nothing is asked for."""
    page, cpu_s, begun = _page(browser), server.cpu_s(), time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_selector("main h2")
    first = Took.since(begun, server.cpu_s() - cpu_s)
    page.wait_for_selector(_DONE)
    whole = Took.since(begun, server.cpu_s() - cpu_s)
    wrong = page.locator("main [role=alert]").all_inner_texts()
    page.context.close()
    assert not wrong, wrong
    return [first, whole]


def _filtered(browser: Browser, root: str) -> list[Took]:
    page, times = _page(browser), list[Took]()

    def measure() -> list[Took]:
        page.goto(root + "?view=queue")
        page.wait_for_selector("main tbody tr")
        box = page.get_by_role("searchbox", name="Filter")
        for text in FILTERS:
            times.append(Took(box.evaluate(_TYPED, text), 0))
            assert page.evaluate(_ROWS) < 1_000  # noqa: PLR2004 - of all queues
        return []

    _within(measure, [])
    page.context.close()
    return times


def _slid(server: Server, browser: Browser, root: str, seqs: list[int]) -> list[Took]:
    page, times = _page(browser), list[Took]()

    def step(seq: int) -> list[Took]:
        cpu_s, begun = server.cpu_s(), time.perf_counter()
        page.locator("#slider").evaluate(_MOVED, seq)
        expect(page.locator("#when")).to_contain_text(f"after event {seq} ", timeout=WITHIN_MS)
        page.wait_for_selector("main:not([aria-busy])")
        return [Took.since(begun, server.cpu_s() - cpu_s)]

    def measure() -> list[Took]:
        page.goto(root + "?view=cohorts")
        page.wait_for_selector("main tbody tr")
        return []

    _within(measure, [])
    for seq in seqs:
        _within(lambda seq=seq: step(seq), [times])  # type: ignore[misc]  # bound now
    page.context.close()
    return times
