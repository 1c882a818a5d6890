"""A Containerfile read into stages, as far as ours goes: exec forms, no heredocs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

INSTRUCTIONS = {
    "ARG",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "LABEL",
    "RUN",
    "STOPSIGNAL",
    "USER",
    "WORKDIR",
}


class Instruction(NamedTuple):
    """One instruction, with continued lines joined."""

    word: str
    rest: str

    def words(self) -> list[str]:
        """Return the words of an exec form.

        Raises:
            ValueError: it is a shell form, whose words depend on a shell.
        """
        names: list[str] = json.loads(self.rest)
        return names


class Stage(NamedTuple):
    """What lies between two FROMs."""

    name: str
    parent: str
    instructions: list[Instruction]

    def of(self, word: str) -> list[Instruction]:
        """Return the instructions of one kind."""
        return [instruction for instruction in self.instructions if instruction.word == word]


def read(path: Path) -> dict[str, Stage]:
    """Return the stages by name, in order.

    Raises:
        ValueError: something in it is not understood.
    """
    stages = dict[str, Stage]()
    for instruction in _instructions(path.read_text()):
        if instruction.word == "FROM":
            match = re.fullmatch(r"(\S+) AS ([a-z-]+)", instruction.rest)
            if match is None:
                raise ValueError(f"FROM {instruction.rest}: a stage needs a name")
            stages[match[2]] = Stage(match[2], match[1], [])
        elif stages:
            list(stages.values())[-1].instructions.append(instruction)
    return stages


def lineage(stages: dict[str, Stage], name: str) -> list[Stage]:
    """Return a stage and the stages that it builds on, the oldest first."""
    line = [stages[name]]
    while line[0].parent in stages:
        line.insert(0, stages[line[0].parent])
    return line


def _instructions(text: str) -> Iterator[Instruction]:
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for joined in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        word, _, rest = joined.partition(" ")
        if word not in INSTRUCTIONS:
            raise ValueError(f"{word} is not an instruction that is used here")
        yield Instruction(word, rest.strip())
