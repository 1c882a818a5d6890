"""Traces of other systems: the Standard Workload Format, and what Slurm's ``sacct`` prints."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tidegate.cli.loads.rows import read_text
from tidegate.cli.times import parse_utc
from tidegate.errors import SettingsError
from tidegate.replay.simulator.loads import Job

SWF_FIELDS = 18
_SWF_WORDS: tuple[str, ...] = ("user", "group", "queue", "partition")
GPU = "nvidia.com/gpu"
_SECOND_US, _KIB = 1_000_000, 1_024
_SIZES = {"": 20, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50}
"""Powers of two of Slurm's suffixes; a bare number is mebibytes."""
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):(\d+):(\d+)(?:\.\d+)?")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)[nc]?")


class QueueTemplate(NamedTuple):
    """The LocalQueue of a job: "<namespace>/<LocalQueue>" with the trace's own words in braces."""

    template: str

    def local_queue(self, where: str, words: Mapping[str, str]) -> tuple[str, str]:
        """Return namespace and LocalQueue of a job.

        Raises:
            SettingsError: the template names a word that the trace does not have.
        """
        try:
            namespace, slash, queue = self.template.format_map(words).partition("/")
        except (KeyError, ValueError, IndexError):
            listed = ", ".join(f"{{{name}}}" for name in words)
            raise SettingsError(
                f"{where}: --local-queue {self.template}: there are {listed}."
            ) from None
        if not slash or not namespace or not queue:
            raise SettingsError(f"--local-queue {self.template}: write NAMESPACE/LOCALQUEUE.")
        return _kubernetes_name(namespace), _kubernetes_name(queue)


def read_swf(path: Path, begin_us: int, queue_template: QueueTemplate) -> Iterator[Job]:
    """Yield the jobs of a trace in the Standard Workload Format: a pod of one core a processor.

    Jobs that never ran, or whose size is not known, are left out.

    Raises:
        SettingsError: a line has too few fields or a field is not a number.
    """
    for number, line in enumerate(read_text(path).splitlines(), 1):
        fields = line.partition(";")[0].split()
        if not fields:
            continue
        where = f"{path}, line {number}"
        if len(fields) < SWF_FIELDS:
            raise SettingsError(f"{where}: {len(fields)} fields, {SWF_FIELDS} were expected.")
        job = _swf_job(where, fields, begin_us, queue_template)
        if job is not None:
            yield job


def read_sacct(path: Path, queue_template: QueueTemplate) -> Iterator[Job]:
    """Yield the jobs that ``sacct --allocations --parsable2 --format=…`` printed.

    Its heading names ``JobID``, ``Submit``, ``ElapsedRaw`` or ``Elapsed``, and ``ReqTRES`` or
    ``AllocTRES``; ``User``, ``Account``, ``Partition`` and ``QOS`` may be used in --local-queue.
    Jobs that never ran and steps are left out.

    Raises:
        SettingsError: a column is missing, or a field cannot be read.
    """
    reader = csv.DictReader(read_text(path).splitlines(), delimiter="|", quoting=csv.QUOTE_NONE)
    headings = set(reader.fieldnames or ())
    required = (("JobID",), ("Submit",), ("ElapsedRaw", "Elapsed"), ("ReqTRES", "AllocTRES"))
    for any_of in required:
        if headings.isdisjoint(any_of):
            raise SettingsError(f"{path}: there is no column {' or '.join(any_of)}.")
    for row in reader:
        where = f"{path}, line {reader.line_num}"
        fields = {name: text or "" for name, text in row.items() if isinstance(name, str)}
        if "." in fields["JobID"]:
            continue
        job = _sacct_job(where, fields, queue_template)
        if job is not None:
            yield job


def _swf_job(
    where: str, fields: list[str], begin_us: int, queue_template: QueueTemplate
) -> Job | None:
    try:
        number, submit_s, _, run_s, allocated, _, _, requested, _, memory_kib = map(
            float, fields[:10]
        )
    except ValueError as error:
        raise SettingsError(f"{where}: {error}") from error
    processors = int(requested if requested > 0 else allocated)
    if run_s <= 0 or processors <= 0 or submit_s < 0:
        return None
    requests = {"cpu": "1"}
    if memory_kib > 0:
        requests["memory"] = str(int(memory_kib) * _KIB)
    words: dict[str, str] = dict(zip(_SWF_WORDS, (*fields[11:13], *fields[14:16]), strict=True))
    namespace, queue = queue_template.local_queue(where, words)
    return Job(
        name=f"job-{int(number)}",
        namespace=namespace,
        queue=queue,
        at_us=begin_us + int(submit_s) * _SECOND_US,
        run_us=int(run_s) * _SECOND_US,
        count=processors,
        requests=requests,
        author=f"user-{words['user']}",
    )


def _sacct_job(where: str, row: Mapping[str, str], queue_template: QueueTemplate) -> Job | None:
    run_s = _parse_elapsed(where, row)
    tres = _parse_tres(where, row.get("ReqTRES") or row.get("AllocTRES", ""))
    nodes = max(1, tres.pop("node", 1))
    if run_s <= 0 or not tres:
        return None
    # Pods alike, one a node, if what was asked for can be divided so; else one pod of it all.
    pods = nodes if all(units % nodes == 0 for units in tres.values()) else 1
    words = {name.lower(): row.get(name, "") for name in ("User", "Account", "Partition", "QOS")}
    namespace, queue = queue_template.local_queue(where, words)
    try:
        at_us = parse_utc(row["Submit"])
    except ValueError:
        raise SettingsError(f"{where}: Submit {row['Submit']!r} is not a time.") from None
    return Job(
        name=_kubernetes_name(f"job-{row['JobID']}"),
        namespace=namespace,
        queue=queue,
        at_us=at_us,
        run_us=run_s * _SECOND_US,
        count=pods,
        requests={resource: str(units // pods) for resource, units in tres.items()},
        author=words["user"],
    )


def _parse_elapsed(where: str, row: Mapping[str, str]) -> int:
    raw = row.get("ElapsedRaw", "")
    if raw.isdecimal():
        return int(raw)
    match = _CLOCK.fullmatch(row.get("Elapsed", ""))
    if match is None:
        raise SettingsError(f"{where}: neither ElapsedRaw nor Elapsed says how long it ran.")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _parse_tres(where: str, text: str) -> dict[str, int]:
    amounts = dict[str, int]()
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name in {"cpu", "node"}:
            amounts[name] = int(value) if value.isdecimal() else 0
        elif name == "mem":
            amounts["memory"] = _parse_memory(where, value)
        elif name == "gres/gpu":
            amounts[GPU] = int(value) if value.isdecimal() else 0
    return {name: units for name, units in amounts.items() if units}


def _parse_memory(where: str, text: str) -> int:
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise SettingsError(f"{where}: mem={text} is not an amount such as 16G.")
    return int(float(match[1]) * (1 << _SIZES[match[2]]))


def _kubernetes_name(text: str) -> str:
    """Return a text as a name that Kubernetes takes."""
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-") or "none"
