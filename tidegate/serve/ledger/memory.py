"""Limits the server's memory: a file's pages, and states."""

from __future__ import annotations

import ctypes
import tempfile
from contextlib import suppress

from store.reading.database import cache_pragma
from tidegate.cli.ledger.reading import Reader
from tidegate.core.state.cluster_queues import Tree
from tidegate.core.state.state import State

CACHE_KIB = 8_192
_MALLOC = {-8: 1, -3: 1 << 17, -1: 1 << 20}
"""glibc's M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD: see mallopt(3)."""


def with_small_cache(reader: Reader) -> Reader:
    """Return a reader whose connection keeps few pages in memory; PostgreSQL keeps none.

    What a statement sorts beyond that goes into a file, if any folder for such files can be
    written: a month of quota by hour is a million rows.
    """
    assert reader.database is not None, "an archive is not served"
    if reader.database.dialect == "sqlite":
        reader.database.select(cache_pragma(CACHE_KIB))
        with suppress(FileNotFoundError):
            tempfile.gettempdir()
            reader.database.select("PRAGMA temp_store = FILE")
    return reader


def free_state(state: State) -> None:
    """Free the memory of a state that is used no more: its trees are circles of references.

    To collect these takes a walk over all that the server holds.
    """
    trees = state.forest
    for tree in trees.trees:
        _free_tree(tree)
    for node in trees.cohorts.values():
        node.children.clear()
        node.parent = None


def _free_tree(tree: Tree) -> None:
    for queue in tree.cluster_queues:
        queue.node.parent = None
        for shape in queue.shapes.values():
            shape.heap.clear()
            shape.watch = None
        queue.shapes.clear()
        queue.watchers.clear()
        queue.reachable.clear()
    tree.cluster_queues.clear()
    tree.by_node.clear()
    tree.unproven.clear()
    tree.node_sums.clear()


def return_freed_memory() -> None:
    """Let glibc give back what is freed: states and answers are large, and made by many threads.

    It keeps a heap for each of some threads, and what it freed once of a size, for more like it.
    Where it is another library nothing is set.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        for option, value in _MALLOC.items():
            set_option(option, value)
