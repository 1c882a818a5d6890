"""Live through worlds with two partitions: ``python -m tests.simulation.partitions --seeds N``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.simulation import small_worlds
from tests.simulation.partitions.site import Site


def live(seed: int) -> Site:
    """Live through the world of a seed; raise what a judge objected to."""
    return small_worlds.live(Site, seed)


def main(arguments: Sequence[str]) -> int:
    """Live through worlds one after another; return 1 if one does not hold."""
    name = "tests.simulation.partitions"
    return small_worlds.live_all(arguments, name, __doc__, Site, _summary)


def _summary(site: Site) -> str:
    entries = "+".join(str(len(ledger.entries)) for ledger in site.both)
    return (
        f"{entries} entries, {site.trees.moves} moves of {site.movers.asked} asked for, "
        f"{site.trees.carried} workloads carried, {site.highest}m at most, {site.deaths} deaths, "
        f"struck {dict(site.strikes.struck)}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
