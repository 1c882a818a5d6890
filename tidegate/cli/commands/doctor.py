"""``tidegate doctor``: what is wrong with an installation, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from tidegate.cli.examining import (
    Finding,
    examine_bus,
    examine_cluster,
    examine_instance,
    examine_ledger,
)
from tidegate.cli.instance import read_instance
from tidegate.cli.objects.asking import ContextOption, KubeconfigOption, open_api
from tidegate.cli.output import Column, Output, OutputOption, print_records
from tidegate.cli.reading import LedgerOption, open_reader
from tidegate.contracts.entry import Entry
from tidegate.errors import LedgerUnreachableError, NotSupportedError

_COLOURS = {"ok": "green", "wrong": "red"}
_COLUMNS = (
    Column("CODE", "code"),
    Column("", "verdict", colour=_COLOURS.get),
    Column("WHAT", "text"),
    Column("TO DO", "toDo"),
)
_PARTS = ("ledger", "bus", "cluster")


def doctor(  # noqa: PLR0913 - each is an option
    *,
    only: Annotated[str, typer.Option(help=f"Only these, with commas: {', '.join(_PARTS)}.")] = "",
    bus: Annotated[
        str, typer.Option(help="The nats:// URL; default: the running instance's.")
    ] = "",
    ledger: LedgerOption = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Check ledger, streams, CRDs, policies, rights and services, and say what to do.

    Each line begins with a fixed code, such as ChainIntact or StreamMissing. The ledger is read
    whole and its chain verified. The exit code is 1 if anything is wrong.

    Examples:
      tidegate doctor

      tidegate doctor --only ledger,bus --bus nats://127.0.0.1:4222

      tidegate doctor -o json | jq -r '.[] | select(.ok | not) | .code'
    """
    parts = set(filter(None, only.split(","))) or set(_PARTS)
    if unknown := sorted(parts.difference(_PARTS)):
        raise typer.BadParameter(f"--only {', '.join(unknown)}: there are {', '.join(_PARTS)}.")
    found = list(_findings(parts, ledger, bus, kubeconfig, context))
    records = [
        {
            "code": one.code,
            "ok": one.ok,
            "verdict": "ok" if one.ok else "wrong",
            "text": one.text,
            "toDo": one.to_do,
        }
        for one in found
    ]
    print_records(records, _COLUMNS, output, name="code")
    if not all(one.ok for one in found):
        raise typer.Exit(1)


def _findings(
    parts: set[str], ledger: str, bus: str, kubeconfig: str, context: str
) -> Iterator[Finding]:
    instance = read_instance()
    if instance is not None and not ledger:
        yield examine_instance(instance)
    ledger_id, head = "", None
    if "ledger" in parts:
        yield from _of_ledger(ledger)
    if "bus" in parts:
        url = bus or ("" if instance is None else instance.nats_url)
        ledger_id, head = _head(ledger) if "ledger" in parts else ("", None)
        yield from examine_bus(url, ledger_id, head) if url else [_not_named("bus", "--bus")]
    if "cluster" in parts:
        yield from _of_cluster(kubeconfig, context)


def _of_ledger(ledger: str) -> Iterator[Finding]:
    try:
        with open_reader(ledger, reports=False) as reader:
            yield from examine_ledger(reader)
    except (LedgerUnreachableError, NotSupportedError) as error:
        yield Finding("LedgerUnreachable", ok=False, text=str(error), to_do="check --ledger")


def _of_cluster(kubeconfig: str, context: str) -> Iterator[Finding]:
    try:
        with open_api(kubeconfig, context) as api:
            yield from examine_cluster(api)
    except NotSupportedError as error:
        yield Finding("NoKubeconfig", ok=False, text=str(error), to_do="give --kubeconfig")


def _head(ledger: str) -> tuple[str, Entry | None]:
    try:
        with open_reader(ledger, reports=False) as reader:
            last = list(reader.ledger.read(reader.end - 1, reader.end)) if reader.end else []
            told = reader.info() if reader.engine is not None else {}
    except (LedgerUnreachableError, NotSupportedError):
        return "", None  # said already, as a finding of its own
    return (str(told.get("ledgerId", "")), last[-1]) if last and told else ("", None)


def _not_named(what: str, option: str) -> Finding:
    text = f"no {what} is named and no instance was started here"
    return Finding("NotChecked", ok=False, text=text, to_do=f"give {option}, or --only the others")
