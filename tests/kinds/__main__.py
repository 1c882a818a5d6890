"""Put what Kueue was observed to do with each job kind to Tidegate: ``python -m tests.kinds``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from tests.kinds.observed.cases import CASES, kinds
from tests.kinds.observed.compare import differences


def main(arguments: Sequence[str]) -> int:
    """Judge every case of a folder; return 1 if one failed, else 0."""
    parser = ArgumentParser(prog="python -m tests.kinds", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=CASES, help="KIND/CASE.json")
    parser.add_argument("--kind", action="append", help="only this kind (may be repeated)")
    parser.add_argument("--verbose", action="store_true", help="say in what each case differs")
    asked = parser.parse_args(arguments)
    failed = 0
    for name, cases in kinds(asked.folder):
        if asked.kind and name not in asked.kind:
            continue
        mapping = {case.id: differences(case) for case in cases}
        bad = {text: lines for text, lines in mapping.items() if lines}
        failed += len(bad)
        _write(f"{name}: {len(mapping) - len(bad)} passed, {len(bad)} failed")
        for text, lines in bad.items():
            _write(f"  {text}", *(f"    {line}" for line in lines if asked.verbose))
    return 1 if failed else 0


def _write(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
