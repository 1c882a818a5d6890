"""Live through worlds with member clusters: ``python -m tests.simulation.members --seeds N``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.simulation import small_worlds
from tests.simulation.members.site import Site


def live(seed: int) -> Site:
    """Live through the world of a seed; raise what a judge objected to."""
    return small_worlds.live(Site, seed)


def main(arguments: Sequence[str]) -> int:
    """Live through worlds one after another; return 1 if one does not hold."""
    name = "tests.simulation.members"
    return small_worlds.live_all(arguments, name, __doc__, Site, _summary)


def _summary(site: Site) -> str:
    return (
        f"{len(site.ledger.entries)} entries, {site.silences} silences, "
        f"{site.highest}m at most, {site.deaths} deaths, moved: {site.moves.kind}"
        f"{', restored' * site.moves.restores}, {site.moves.lost} entries lost"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
