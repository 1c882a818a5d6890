"""``why`` of many workloads, asked so often a second: times from when each question was due."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.serving.served import Server, some_keys

PER_S, SECONDS, CLIENTS = 50, 20, 16


def why_at_rate(
    server: Server, file: Path, detail: str, per_s: int = PER_S, seconds: int = SECONDS
) -> str:
    """Ask why of workloads of the whole history, each another; return a sentence of what it took.

    A question that waits for the one before it counts that, too.
    """
    keys, before_s = some_keys(file, per_s * seconds), server.cpu_s()
    paths = [f"/v1/workloads/{key}/why?detail={detail}" for key in keys]
    begun = time.monotonic() + 0.5
    dues = [begun + n / per_s for n in range(len(paths))]
    with ThreadPoolExecutor(CLIENTS) as clients:
        ranked = sorted(clients.map(_ask, [server] * len(paths), paths, dues))
    p50, p99 = (1_000 * ranked[len(ranked) * share // 100] for share in (50, 99))
    used_ms = 1_000 * (server.cpu_s() - before_s) / len(paths)
    return (
        f"{len(ranked)} answers of why in {detail} form, {per_s} a second: p50 {p50:.0f} ms, p99 "
        f"{p99:.0f} ms, most {1_000 * ranked[-1]:.0f} ms; {used_ms:.1f} ms of CPU each, "
        f"{server.mib():.0f} MiB"
    )


def _ask(server: Server, path: str, due_s: float) -> float:
    time.sleep(max(0.0, due_s - time.monotonic()))
    server.ask(path)
    return time.monotonic() - due_s
