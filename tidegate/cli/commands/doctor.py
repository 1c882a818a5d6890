"""``tidegate doctor``: what is wrong with an installation, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated, NamedTuple

import typer

from tidegate.cli.advice import advice
from tidegate.cli.doctor.examining import (
    examine_bus,
    examine_cluster,
    examine_instance,
    examine_ledger,
)
from tidegate.cli.doctor.findings import Finding, wrong_finding
from tidegate.cli.instance import Instance, read_instance
from tidegate.cli.ledger.reading import LedgerOption, Reader, open_reader
from tidegate.cli.nats_options import BusCaOption, BusCredentialsOption, ClusterOption
from tidegate.cli.objects.api_client import (
    ContextOption,
    KubeconfigOption,
    kubeconfig_path,
    open_api,
)
from tidegate.cli.output import Column, Output, OutputOption, print_records
from tidegate.contracts.entry import Entry
from tidegate.errors import LedgerUnreachableError, NotSupportedError
from tidegate.urls import redacted

_COLOURS = {"ok": "green", "wrong": "red", "skipped": "yellow"}
_COLUMNS = (
    Column("CODE", "code"),
    Column("", "verdict", colour=_COLOURS.get),
    Column("WHAT", "text"),
    Column("TO DO", "toDo"),
)
_PARTS = ("ledger", "bus", "cluster")


class _Target(NamedTuple):
    """The addresses of the ledger, the bus and the cluster that are examined."""

    ledger: str
    bus: str
    cluster: str
    credentials: str  # path of a NATS credentials file
    ca: str  # path of the CA of NATS' certificate
    kubeconfig: str
    context: str
    config: str  # path of Kueue's Configuration


def doctor(  # noqa: PLR0913 - each is an option
    *,
    only: Annotated[
        str, typer.Option(help=f"Only these parts, separated by commas: {', '.join(_PARTS)}.")
    ] = "",
    bus: Annotated[
        str, typer.Option(help="The nats:// URL; default: the running instance's.")
    ] = "",
    cluster: ClusterOption = "local",
    bus_credentials: BusCredentialsOption = None,
    bus_ca: BusCaOption = None,
    ledger: LedgerOption = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    config: Annotated[
        str,
        typer.Option(
            "--config",
            help="The services' Configuration file; default: from the cluster's ConfigMap.",
            metavar="FILE",
        ),
    ] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Check ledger, streams, CRDs, policies, rights and services, and print remedies.

    Each line begins with a fixed code, such as ChainIntact or StreamMissing. doctor reads the whole
    ledger and verifies its hash chain. It compares policies and rights with those that the
    configuration needs: that of --config, of the cluster's ConfigMap, or the defaults. It checks
    every right of each service account, for which you need the right to create
    SubjectAccessReviews; otherwise it skips this check. The exit code is 1 if anything is wrong.

    Examples:
      tidegate doctor

      tidegate doctor --only ledger,bus --bus nats://127.0.0.1:4222

      tidegate doctor -o json | jq -r '.[] | select(.ok | not) | .code'
    """
    parts = set(filter(None, only.split(","))) or set(_PARTS)
    if unknown := sorted(parts.difference(_PARTS)):
        raise typer.BadParameter(f"--only {', '.join(unknown)}: the parts are {', '.join(_PARTS)}.")
    joining = cluster, str(bus_credentials or ""), str(bus_ca or "")
    options = _Target(ledger, bus, *joining, kubeconfig, context, config)
    findings = list(_findings(parts, options))
    records = [
        {
            "code": finding.code,
            "ok": finding.ok,
            "verdict": finding.verdict,
            "text": redacted(finding.text),
            "toDo": finding.to_do,
        }
        for finding in findings
    ]
    print_records(records, _COLUMNS, output, name="code")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def _findings(parts: set[str], options: _Target) -> Iterator[Finding]:
    instance = read_instance()
    if instance is not None and not options.ledger:
        yield examine_instance(instance)
    if "ledger" in parts:
        yield from _ledger_findings(options.ledger)
    if "bus" in parts:
        url = options.bus or ("" if instance is None else instance.nats_url)
        heads = _ledger_heads(options.ledger) if "ledger" in parts else [(0, "", None)]
        for head in heads if url else ():
            yield from _with_partition(_bus_findings(url, *head, options), head[0], len(heads))
        if not url:
            yield _not_configured("bus", "--bus")
    if "cluster" in parts:
        yield from _cluster_findings(options, instance)


def _with_partition(findings: Iterable[Finding], partition: int, count: int) -> Iterator[Finding]:
    """Yield what was found of a partition; where there are several, with its number."""
    for finding in findings:
        text = f"partition {partition}: {finding.text}"
        yield finding if count == 1 else finding._replace(text=text)


def _bus_findings(
    url: str, partition: int, ledger_id: str, head: Entry | None, options: _Target
) -> Iterator[Finding]:
    return examine_bus(
        url,
        ledger_id,
        head,
        cluster=options.cluster,
        credentials=options.credentials,
        ca=options.ca,
        partition=partition,
        end=partial(_ledger_end, options.ledger, partition),
    )


def _ledger_findings(ledger: str) -> Iterator[Finding]:
    try:
        with open_reader(ledger, reports=False) as reader:
            readers = reader.partition_readers()
            for each in readers:
                yield from _with_partition(examine_ledger(each), each.partition, len(readers))
    except (LedgerUnreachableError, NotSupportedError) as error:
        yield wrong_finding("LedgerUnreachable", str(error), advice(error) or "check --ledger")


def _cluster_findings(options: _Target, instance: Instance | None) -> Iterator[Finding]:
    is_own = instance is not None and kubeconfig_path(options.kubeconfig) == instance.kubeconfig
    config = options.config or (instance.config if is_own and instance is not None else "")
    try:
        with open_api(options.kubeconfig, options.context) as api:
            yield from examine_cluster(api, config)
    except NotSupportedError as error:
        yield wrong_finding("NoKubeconfig", str(error), "give --kubeconfig")


def _ledger_heads(ledger: str) -> list[tuple[int, str, Entry | None]]:
    """Return each partition's number, ledger id and newest entry."""
    try:
        with open_reader(ledger, reports=False) as reader:
            return [(each.partition, *_ledger_head(each)) for each in reader.partition_readers()]
    except (LedgerUnreachableError, NotSupportedError):
        return [(0, "", None)]  # said already, as a finding of its own


def _ledger_end(ledger: str, partition: int) -> int:
    try:
        with open_reader(ledger, partition=partition, reports=False) as reader:
            return reader.end
    except (LedgerUnreachableError, NotSupportedError):
        return 0  # as far as the head that was read before


def _ledger_head(reader: Reader) -> tuple[str, Entry | None]:
    last = list(reader.ledger.read(reader.end - 1, reader.end)) if reader.end else []
    fields = reader.info()
    return (str(fields.get("ledgerId", "")), last[-1]) if last and fields else ("", None)


def _not_configured(noun: str, option: str) -> Finding:
    text = f"no {noun} is named and no instance was started here"
    return wrong_finding("NotChecked", text, f"give {option}, or --only the others")
