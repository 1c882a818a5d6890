"""A tree of cohorts as the API server has it, and the annotations that ask for its partition."""

from __future__ import annotations

from typing import NamedTuple

from tidegate.cli.objects.api_client import ApiClient, Object
from tidegate.cli.objects.naming import CLUSTER_QUEUE, CommandKind
from tidegate.cli.objects.patching import DryRun, patch_object, with_kind
from tidegate.core.quota.partition_moves import abbreviate_names, key_as_text, topmost_cohort
from tidegate.errors import UnknownNameError, existing
from tidegate.kinds.names import MOVE_TO, PARTITION

COHORT = CommandKind("cohort", "Cohort", "cohorts", "cohort", namespaced=False)
_KINDS = (COHORT, CLUSTER_QUEUE)


class Tree(NamedTuple):
    """All objects of a tree, the Cohorts first."""

    root: str  # Cohort/a, or ClusterQueue/a in no cohort
    objects: tuple[Object, ...]

    @property
    def name(self) -> str:
        """Return the tree as people say it: ``Cohort physics``."""
        return key_as_text(self.root)

    def keys(self) -> set[str]:
        """Return the objects as ledgers name them: ``ClusterQueue/a``."""
        return {_object_key(obj) for obj in self.objects}


def find_tree(api: ApiClient, text: str) -> Tree:
    """Return the tree that a name means: ``physics``, ``cohort/physics``, ``cq/lone``.

    Raises:
        UnknownNameError: there is none, or it is a part of a tree.
        ApiStatusError: the API server refuses.
        ApiUnreachableError: the API server does not answer.
    """
    trees = _list_trees(api)
    word, _, name = text.rpartition("/")
    kinds = [kind.kind for kind in _KINDS if word.lower() in {"", kind.word, kind.short}]
    roots = [root for root in trees if root in {f"{kind}/{name}" for kind in kinds}]
    if len(roots) == 1:
        return Tree(roots[0], tuple(trees[roots[0]]))
    if roots:
        raise UnknownNameError(
            f"{name} is a Cohort and a ClusterQueue: name cohort/{name} or clusterqueue/{name}."
        )
    for root, objects in trees.items():
        for part in objects:
            if _object_key(part) in {f"{kind}/{name}" for kind in kinds}:
                above = key_as_text(root) if root != "Cohort/" else "Cohorts in a circle"
                raise UnknownNameError(
                    f"{part['kind']} {name} is in the tree of {above}, which moves as a whole: "
                    "name that."
                )
    listed = abbreviate_names(sorted(root.partition("/")[2] for root in trees))
    raise UnknownNameError(f"There is no tree of the name {text!r}. {existing(listed)}")


def request_partition(api: ApiClient, tree: Tree, to: int, dry: DryRun) -> list[Object]:
    """Ask for another partition on all objects of a tree; return them as they are then.

    Raises:
        ApiStatusError: the API server refuses; what was asked before stands, and the tree stays.
        ApiUnreachableError: the API server does not answer.
    """
    note = {"metadata": {"annotations": {MOVE_TO: str(to)}}}
    return [patch_object(api, _object_path(obj), note, dry) for obj in tree.objects]


def record_partition(api: ApiClient, tree: Tree, partition: int, dry: DryRun) -> list[Object]:
    """Write down where a tree is, and that it asks for no other; return the changed objects.

    The policy allows a partition that was asked for before, so that is written first where it is
    another. Errors as in ``request_partition``.
    """
    changed = list[Object]()
    for obj in tree.objects:
        notes = obj["metadata"].get("annotations") or {}
        is_written = notes.get(PARTITION, "0") == str(partition)
        if is_written and MOVE_TO not in notes:
            continue
        if not is_written and notes.get(MOVE_TO) != str(partition) and dry is DryRun.NONE:
            patch_object(
                api,
                _object_path(obj),
                {"metadata": {"annotations": {MOVE_TO: str(partition)}}},
                dry,
            )
        note = {MOVE_TO: None} | ({} if is_written else {PARTITION: str(partition)})
        changed.append(
            patch_object(api, _object_path(obj), {"metadata": {"annotations": note}}, dry)
        )
    return changed


def _list_trees(api: ApiClient) -> dict[str, list[Object]]:
    cohorts, queues = (
        with_kind(api.list_all(kind.path()), kind.api_version, kind.kind) for kind in _KINDS
    )
    parents = {obj["metadata"]["name"]: _parent_cohort(obj, "parentName") for obj in cohorts}
    trees = dict[str, list[Object]]()
    for obj in (*cohorts, *queues):
        trees.setdefault(_root_key(obj, parents), []).append(obj)
    return trees


def _root_key(obj: Object, parents: dict[str, str]) -> str:
    is_cohort = obj["kind"] == COHORT.kind
    name = obj["metadata"]["name"] if is_cohort else _parent_cohort(obj, "cohortName")
    return (
        topmost_cohort(name, lambda cohort: parents.get(cohort, "")) if name else _object_key(obj)
    )


def _parent_cohort(obj: Object, field: str) -> str:
    return str((obj.get("spec") or {}).get(field) or "")


def _object_key(obj: Object) -> str:
    return f"{obj['kind']}/{obj['metadata']['name']}"


def _object_path(obj: Object) -> str:
    kind = next(kind for kind in _KINDS if kind.kind == obj["kind"])
    return kind.path(obj["metadata"]["name"])
