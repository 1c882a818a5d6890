"""docs/glossary.md against the code: what it names is there; no private word names a class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.syntax import outline

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text()
ROWS = re.findall(r"^\| ([a-z]+) \| .* \| `([^`]+)` \|$", PAGE, re.MULTILINE)
WORDS_MAX = 40
PACKAGES = (
    *(
        "actuator",
        "apiserver",
        "dispatcher",
        "ingest",
        "migrations",
        "scheduler",
        "store",
        "tidegate",
    ),
)
PRIVATE = {
    *("agenda", "attention", "bells", "belonging", "belongings", "calm", "carrying", "crowd"),
    *("desk", "dozing", "heard", "hiding", "hopeless", "inbox", "joins", "learner", "machinery"),
    *("means", "mirror", "night", "outbox", "outlet", "room", "seam", "sheet", "shelf", "sleeper"),
    *("sparing", "strangers", "telling", "territory", "together", "told", "upkeep", "vain"),
}
"""Words that once named things here, and that no engineer of the field would look for."""


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def names(path: Path) -> tuple[str, ...]:
    """Return the names of a module and of its classes."""
    return path.stem, *outline(path).classes


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name)}


def test_the_glossary_is_short_and_in_order() -> None:
    listed = [word for word, _ in ROWS]
    assert 0 < len(listed) <= WORDS_MAX
    assert len(set(listed)) == len(listed) == PAGE.count("\n| ") - 2


@pytest.mark.parametrize(("word", "where"), ROWS)
def test_what_the_glossary_names_is_there(word: str, where: str) -> None:
    assert word
    classes = {name for path in modules() for name in names(path)} if "/" not in where else set()
    assert (ROOT / where).exists() or where in classes


def test_no_private_word_names_a_module_or_a_class() -> None:
    lines = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules()
        for name in names(path)
        if words(name) & PRIVATE
    }
    assert lines == set()


NARRATIVE = {
    *("along", "astray", "attendance", "believe", "bells", "bereft", "bring", "brings", "brought"),
    *("bury", "crowd", "disband", "disown", "dressed", "heed", "heir", "heirs", "lasts", "learn"),
    *("lets", "machinery", "meant", "minds", "muster", "mustered", "noticed", "obey", "pour"),
    *("poured", "remembered", "retold", "ring", "says", "shy", "strangers", "suits", "telling"),
    *("tells", "tidy", "told", "upkeep", "vain"),
}
"""Words that tell a story: a function is named by its verb and object, as Kubernetes' are."""


@pytest.mark.parametrize("package", PACKAGES)
def test_a_function_is_named_by_what_it_does(package: str) -> None:
    lines = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in (*outline(path).classes, *(each.name for each in outline(path).functions))
        if words(name) & NARRATIVE
    }
    assert lines == set()


PRONOUNS = re.compile(r"\b(anybody|nobody|somebody|told|whoever|whom)\b", re.IGNORECASE)
"""Words that refer to an object without naming it: write the Workload, the caller or the leader."""


@pytest.mark.parametrize("package", [*PACKAGES, "bench"])
def test_no_sentence_has_a_pronoun_in_place_of_an_object(package: str) -> None:
    lines = {
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PRONOUNS.search(line)
    }
    assert lines == set()


PARTICIPLES = {
    *("asked", "found", "given", "heard", "held", "here", "kept", "known", "left", "made", "meant"),
    *("one", "ours", "said", "seen", "sent", "shown", "taken", "theirs", "there", "told"),
    *("wanted", "what", "who", "whose"),
}
"""Words that do not say which object a local name is; workload, podset or response do."""


def names_in(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each function of a module with its parameters and variables."""
    for function in outline(path).functions:
        yield from ((function.name, name) for name in function.names)


@pytest.mark.parametrize("package", [*PACKAGES, "bench"])
def test_a_local_name_says_which_object_it_is(package: str) -> None:
    vague = {
        f"{path.relative_to(ROOT)}: {function}: {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for function, name in names_in(path)
        if name in PARTICIPLES
    }
    assert vague == set()


VAGUE = {
    "anybody",
    "found",
    "nobody",
    "one",
    "said",
    "somebody",
    "told",
    "whoever",
    "whom",
}
"""Local names that no test needs: its workloads, events and answers have names."""

FOLDERS = sorted(path.name for path in (ROOT / "tests").iterdir() if any(path.rglob("*.py")))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_local_name_of_a_test_says_which_object_it_is(folder: str) -> None:
    vague = {
        f"{path.relative_to(ROOT)}: {function}: {name}"
        for path in sorted((ROOT / "tests" / folder).rglob("*.py"))
        for function, name in names_in(path)
        if name in VAGUE
    }
    assert vague == set()


PERSONS = re.compile(r"(?<![a-z])(anybody|nobody|somebody|whoever|whom)s?(?![a-z])", re.IGNORECASE)
"""Words for people where a test means a workload, a client or a leader; also as parts of names."""
SYSTEM_USERS = '("postgres", "nobody")'
"""The one line that means the user ``nobody`` of a machine."""


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_sentence_of_a_test_has_a_person_in_place_of_an_object(folder: str) -> None:
    lines = {
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / "tests" / folder).rglob("*.py"))
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PERSONS.search(line) and SYSTEM_USERS not in line
    }
    assert lines == set()


CASES = (".yaml", ".yml", ".txt")


@pytest.mark.parametrize("root", ["tests", "deploy"])
def test_no_case_has_a_person_in_place_of_an_object(root: str) -> None:
    paths = [path for path in sorted((ROOT / root).rglob("*")) if path.suffix in CASES]
    lines = {
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PERSONS.search(line)
    }
    assert paths
    assert lines == set()


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_test_is_named_after_a_person_in_place_of_an_object(folder: str) -> None:
    persons = {
        f"{path.relative_to(ROOT)}: {function.name}"
        for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))
        for function in outline(path).functions
        if function.name.startswith("test_") and PRONOUNS.search(function.name.replace("_", " "))
    }
    assert persons == set()
