"""``tidegate partitions move``: ask for another partition, wait, and write down where a tree is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from store.reading.about import is_led
from tidegate.cli.ledger.reading import LedgerOption, Reader, open_reader
from tidegate.cli.live.follow import LedgerFollower
from tidegate.cli.moves.objects import Tree, find_tree, record_partition, request_partition
from tidegate.cli.moves.state import move_remedy
from tidegate.cli.moves.waiting import (
    Progress,
    current_partition,
    move_of,
    progress_of,
    wait_until_moved,
)
from tidegate.cli.objects.api_client import (
    ApiClient,
    ContextOption,
    KubeconfigOption,
    Object,
    open_api,
)
from tidegate.cli.objects.patching import DryRun, DryRunOption, print_done
from tidegate.cli.output import Output, OutputOption, print_message, print_record
from tidegate.cli.times import finite
from tidegate.core.quota.partition_moves import partition_0_needs
from tidegate.core.state.state import State
from tidegate.errors import MoveHangsError, UnknownNameError
from tidegate.model.ids import PARTITION_MAX

_TIMEOUT_S = 120.0


def move(  # noqa: PLR0913 - each is an option
    tree: Annotated[
        str,
        typer.Argument(
            help="The topmost Cohort, or a ClusterQueue in no cohort; also cohort/NAME."
        ),
    ],
    *,
    to: Annotated[
        int, typer.Option("--to", metavar="N", min=0, max=PARTITION_MAX, help="The partition.")
    ],
    wait: Annotated[
        bool, typer.Option(help="Wait until the tree has moved, and write that down.")
    ] = True,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0, callback=finite, help="Wait at most this many seconds."
        ),
    ] = _TIMEOUT_S,
    dry: DryRunOption = DryRun.NONE,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    ledger: LedgerOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Move a tree of cohorts to another partition with what runs in it.

    The command writes tidegate.dev/move-to on the tree's Cohorts and ClusterQueues and waits until
    the other partition has taken the tree. Then it writes tidegate.dev/partition and removes
    tidegate.dev/move-to. What runs goes on; nothing is admitted in between. The exit code is 1 if
    the tree cannot move or has not moved in time; it may still move later, and the same command
    then waits on. With the partition that has the tree, the command calls a move off that has not
    begun.

    Examples:
      tidegate partitions move physics --to 3

      tidegate partitions move physics --to 3 --dry-run server

      tidegate partitions move clusterqueue/lone --to 1 --timeout 600
    """
    with open_api(kubeconfig, context) as api, open_reader(ledger, reports=False) as reader:
        moving = _TreeMove(api, reader.partition_readers(), find_tree(api, tree), to)
        source, stage, objects = moving.request(dry)
        if stage == "Requested" and wait and dry is DryRun.NONE:
            if output in {Output.TABLE, Output.WIDE}:
                _print_objects(objects, f"asked to move to partition {to}", output, dry)
            objects, stage = moving.wait_and_record(timeout), "Moved"
    if output in {Output.TABLE, Output.WIDE, Output.NAME}:
        done = {
            "Requested": f"asked to move to partition {to}",
            "Moved": f"moved to partition {to}",
        }
        _print_objects(objects, done.get(stage, f"stays in partition {to}"), output, dry)
        return
    record = {"tree": tree, "from": source, "to": to, "stage": stage, "objects": objects}
    print_record(record, output, name="tree")


def _print_objects(objects: Sequence[Object], done: str, output: Output, dry: DryRun) -> None:
    for obj in objects:
        print_done(obj, done, output, dry)


class _TreeMove:
    """A tree that is to be a partition's."""

    def __init__(self, api: ApiClient, readers: Sequence[Reader], tree: Tree, to: int) -> None:
        self._api, self._tree, self._to = api, tree, to
        self._readers = {reader.partition: reader for reader in readers}
        self._followers = {
            number: LedgerFollower(reader.ledger, reader.state("reading"))
            for number, reader in self._readers.items()
        }

    def request(self, dry: DryRun) -> tuple[int, str, list[Object]]:
        """Ask for the partition; return where the tree is, how far it is, and what was changed.

        Raises:
            MoveHangsError: it cannot move there.
            UnknownNameError: no partition knows it.
        """
        keys, states = self._tree.keys(), self._states()
        under_way = move_of(states.values(), keys)
        home = current_partition(states.values(), keys, self._to)
        if home == self._to and (under_way is None or under_way.stage == "Requested"):
            objects = record_partition(self._api, self._tree, self._to, dry)
            if not objects:
                print_message(f"{self._tree.name} is in partition {self._to}: nothing to do.")
            return self._to, "Stays", objects
        if under_way is not None and under_way.stage != "Requested" and under_way.to != self._to:
            raise MoveHangsError(
                f"{self._tree.name} is on its way to partition {under_way.to}: {under_way.why}. "
                "Wait for that."
            )
        if home is None and under_way is None:
            raise UnknownNameError(
                f"No partition has observed {self._tree.name} yet: see `tidegate partitions list`."
            )
        self._refuse_hanging_move(states, home)
        source = under_way.giver if home is None and under_way is not None else home
        return source or 0, "Requested", request_partition(self._api, self._tree, self._to, dry)

    def wait_and_record(self, timeout_s: float) -> list[Object]:
        """Wait until the tree has moved, and write that down; return what was changed.

        Raises:
            MoveHangsError: it has not moved in time; says what to do.
        """
        try:
            wait_until_moved(self._progress, timeout_s)
        except MoveHangsError as error:
            raise MoveHangsError(f"{self._tree.name}: {error} To do: {self._advice()}.") from error
        tree = find_tree(self._api, self._tree.root)
        return record_partition(self._api, tree, self._to, DryRun.NONE)

    def _progress(self) -> Progress:
        for follower in self._followers.values():
            follower.poll()
        return progress_of(self._states(), self._tree.keys(), self._to)

    def _states(self) -> dict[int, State]:
        return {number: follower.state for number, follower in self._followers.items()}

    def _is_led(self, partition: int) -> bool:
        reader = self._readers.get(partition)
        database = None if reader is None else reader.database
        return database is not None and is_led(database.select, database.dialect, partition)

    def _refuse_hanging_move(self, states: dict[int, State], home: int | None) -> None:
        if not self._is_led(self._to):
            raise MoveHangsError(
                f"No scheduler leads partition {self._to}, so no workload would start in "
                f"{self._tree.name}. To do: start a scheduler and an actuator with "
                f"--partition {self._to} (docs/partitions.md)."
            )
        if home is None or not self._to:
            return
        state = states[home]
        queues = (
            state.objects.cluster_queues.get(name) for name in self._object_names("ClusterQueue")
        )
        needs = (need for queue in queues if queue for need in partition_0_needs(state, queue.spec))
        if need := next(needs, ""):
            raise MoveHangsError(f"{self._tree.name} cannot leave partition 0: {need}")

    def _object_names(self, kind: str) -> list[str]:
        return [obj["metadata"]["name"] for obj in self._tree.objects if obj["kind"] == kind]

    def _advice(self) -> str:
        progress = self._progress()
        led = [number for number in self._readers if self._is_led(number)]
        return move_remedy(progress.stage, self._tree.root, progress.partition, self._to, led)
