"""Measure the page on a large ledger: ``python -m bench.serving.views --file F``.

Fills a ledger of 1,000 queues and 100,000 workloads, about a million events, unless the file is
there, and starts ``tidegate serve`` on it. Asks what the views ask, each often, then opens each
view in Chromium (not with ``--no-browser``): when its first content stands there, how long a
filter takes, and a step of the slider. CPU is the server's own.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
from playwright.sync_api import Page, expect, sync_playwright

from bench.answers import fill
from bench.serving.served import Server, served, some_keys

WORKLOADS, QUEUES, STANDING = 92_000, 1_000, 8_000
TIMES, STEP_EVENTS, SEED = 20, 2_500, 1
NOW = (
    ("why, brief form", "workloads/{key}/why"),
    ("why, usual form", "workloads/{key}/why?detail=usual"),
    ("why-not", "workloads/{waits}/why-not"),
    ("queues", "queues?limit=1000&offset={n}"),
    ("a queue's tree", "tree?of={queue}"),
    ("who holds its quota", "running?queue={queue}"),
    ("its positions, with when each might start", "positions?queue={queue}"),
    ("all Cohorts", "tree?limit=5000&offset={n}"),
    ("usage of all queues", "usage?limit=5000&offset={n}"),
    ("search", "search?text=train-9{nth}"),
)
ONCE = (
    ("a month's costs of all teams", "costs?limit=5000&month=2026-03"),
    ("what queues borrowed in it", "quota-use?limit=5000&month=2026-03"),
)
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
_ROWS = "document.querySelectorAll('main tbody tr').length"
_TYPED = """input => new Promise(done => {
  const begun = performance.now();
  input.value = 'queue-77';
  input.dispatchEvent(new Event('input'));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - begun)));
})"""
_MOVED = "(one, seq) => { one.value = seq; one.dispatchEvent(new Event('change')); }"


class Took(NamedTuple):
    """How long something took, in milliseconds."""

    wall_ms: float
    cpu_ms: float


def main(arguments: Sequence[str]) -> int:
    """Fill, serve and measure; return the exit code."""
    parser = ArgumentParser(prog="python -m bench.serving.views", description=__doc__)
    parser.add_argument("--file", type=Path, required=True, help="the ledger, kept here")
    parser.add_argument("--workloads", type=int, default=WORKLOADS, help="that have finished")
    parser.add_argument("--times", type=int, default=TIMES, help="that each is asked")
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args(arguments)
    if not options.file.exists():
        fill(options.file, options.workloads, QUEUES, STANDING)
    with served(str(options.file)) as server:
        server.wait_ready()
        print(f"ready after {server.cpu_s():.1f} s of CPU, {server.mib():.0f} MiB", flush=True)
        server.wait_indexed()
        print(f"index made after {server.cpu_s():.1f} s of CPU, {server.mib():.0f} MiB", flush=True)
        print("| what | CPU ms, median | most | wall ms, median | most | MiB then |")
        print("| --- | --: | --: | --: | --: | --: |")
        keys = some_keys(options.file, options.times)
        for name, took in chain(_asked(server, keys), _moved(server, options.times)):
            print(f"{_line(name, took)} {server.mib():.0f} |", flush=True)
        print(f"memory: {server.mib():.0f} MiB", flush=True)
        if not options.no_browser:
            for name, took in _looked(server):
                print(f"{_line(name, took)} {server.mib():.0f} |", flush=True)
            print(f"memory: {server.mib():.0f} MiB", flush=True)
    return 0


def _asked(server: Server, keys: list[str]) -> Iterator[tuple[str, list[Took]]]:
    waiting = _waiting(server)
    for name, path in NOW:
        paths = [
            path.format(queue=f"queue-{7 * n}", nth=f"{n:02}", n=n, key=key, waits=waiting[n])
            for n, key in enumerate(keys)
        ]
        yield name, [_took(server, one) for one in paths]
    for name, path in ONCE:
        yield name, [_took(server, path)]


def _waiting(server: Server) -> list[str]:
    rows = msgspec.json.decode(server.ask("/v1/queues?limit=1000"))["items"]
    return [row["head"] for row in rows if row["head"]]


def _moved(server: Server, times: int) -> Iterator[tuple[str, list[Took]]]:
    head, random = _head(server), Random(SEED)
    jumps = [random.randrange(1, head) for _ in range(times)]
    yield "a jump to anywhere", [_took(server, f"tree?limit=5000&asOf={seq}") for seq in jumps]
    at, steps = head // 2, list[int]()
    for _ in range(times):
        at += random.randrange(-STEP_EVENTS, STEP_EVENTS)
        steps.append(at)
    _took(server, f"tree?limit=5000&asOf={head // 2}")
    yield (
        "a step by up to 2,500 events",
        [_took(server, f"tree?limit=5000&asOf={seq}") for seq in steps],
    )


def _took(server: Server, path: str) -> Took:
    cpu_s, begun = server.cpu_s(), time.perf_counter()
    server.ask(f"/v1/{path}")
    return Took(1_000 * (time.perf_counter() - begun), 1_000 * (server.cpu_s() - cpu_s))


def _head(server: Server) -> int:
    return int(msgspec.json.decode(server.ask("/v1/ledger"))["headSeq"])


def _looked(server: Server) -> Iterator[tuple[str, list[Took]]]:
    """Open each view, each with a browser's cache that knows nothing of the one before."""
    namespace, _, name = _waiting(server)[0].partition("/")
    root, head = f"http://127.0.0.1:{server.port}/look/", _head(server)
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        browser.new_page().goto(root)  # what a browser does once is not measured
        for view, query in VIEWS:
            page = browser.new_page()
            url = root + query.format(namespace=namespace, name=name, queue="queue-7")
            yield f"{view}: first content", [_shown(server, page, url)]
        page = browser.new_page()
        _shown(server, page, root + "?view=queue")
        typed = page.get_by_role("searchbox", name="Filter").evaluate(_TYPED)
        assert page.evaluate(_ROWS) < QUEUES // 2
        yield "a filter over 1,000 queues", [Took(typed, 0)]
        page.goto(root + "?view=cohorts&of=queue-7")
        yield (
            "the slider, in the browser",
            [_slid(server, page, head * part // 10) for part in range(1, 10)],
        )
        browser.close()


def _shown(server: Server, page: Page, url: str) -> Took:
    cpu_s, begun = server.cpu_s(), time.perf_counter()
    page.goto(url, wait_until="commit")
    expect(page.locator("main h2").first).to_be_visible(timeout=60_000)
    wall_ms = 1_000 * (time.perf_counter() - begun)
    page.wait_for_load_state("networkidle")
    expect(page.get_by_role("alert")).to_have_count(0)
    return Took(wall_ms, 1_000 * (server.cpu_s() - cpu_s))


def _slid(server: Server, page: Page, seq: int) -> Took:
    cpu_s, begun = server.cpu_s(), time.perf_counter()
    page.locator("#slider").evaluate(_MOVED, seq)
    expect(page.locator("#when")).to_contain_text(f"after event {seq} ", timeout=60_000)
    expect(page.locator("main[aria-busy]")).to_have_count(0, timeout=60_000)
    return Took(1_000 * (time.perf_counter() - begun), 1_000 * (server.cpu_s() - cpu_s))


def _line(name: str, took: Iterable[Took]) -> str:
    walls, cpus = zip(*took, strict=True)
    figures = statistics.median(cpus), max(cpus), statistics.median(walls), max(walls)
    return f"| {name} | {' | '.join(f'{figure:.0f}' for figure in figures)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
