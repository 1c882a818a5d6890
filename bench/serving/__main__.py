"""Measure ``why`` over HTTP: ``python -m bench.serving --file F [--detail brief]``.

Fills a ledger as ``bench.answers`` does, unless the file is there; starts ``tidegate serve`` on it,
and asks why of workloads of the whole history, each another, so often a second.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from bench.answers import WORKLOADS, fill
from bench.serving.paced import PER_S, SECONDS, why_at_rate
from bench.serving.served import run_server


def main(arguments: Sequence[str]) -> int:
    """Fill, serve and measure; return the exit code."""
    parser = ArgumentParser(prog="python -m bench.serving", description=__doc__)
    parser.add_argument("--workloads", type=int, default=WORKLOADS)
    parser.add_argument("--file", type=Path, required=True, help="the ledger, kept here")
    parser.add_argument("--detail", default="brief", choices=("brief", "usual"))
    parser.add_argument("--per-s", type=int, default=PER_S)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    options = parser.parse_args(arguments)
    if not options.file.exists():
        fill(options.file, options.workloads)
    with run_server(str(options.file)) as server:
        server.wait_ready()
        print(f"ready after {server.since_s():.1f} s, {server.mib():.0f} MiB", flush=True)
        server.wait_indexed()
        print(f"index made after {server.since_s():.1f} s, {server.mib():.0f} MiB", flush=True)
        print(why_at_rate(server, options.file, options.detail, options.per_s, options.seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
