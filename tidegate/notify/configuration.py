"""The notifier's configuration file: receivers, and the rules of what each of them gets."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from tidegate.errors import TidegateError
from tidegate.service.config.durations import duration_us
from tidegate.service.config.yaml_documents import parse_yaml

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
BYTES, SECOND_US = 1_000_000, 1_000_000
BUDGET_AT = (80, 100)
"""The thresholds of ``BudgetReached``."""


class ConfigurationError(TidegateError):
    """The configuration file cannot be used; the message has the field and the cause."""


class When(StrEnum):
    """What a rule can ask for."""

    ADMITTED = "Admitted"
    PREEMPTED = "Preempted"
    EVICTED = "Evicted"
    DEACTIVATED = "Deactivated"
    FINISHED = "Finished"


class Form(StrEnum):
    """The body of a request."""

    CLOUD_EVENTS = "CloudEvents"  # 1.0, structured JSON
    SLACK = "Slack"  # an incoming webhook's: one text


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which workloads, and what of them; empty lists of places mean all."""

    when: tuple[When, ...] = ()
    waiting_longer_than: str = ""  # a duration such as 1h30m
    budget_at: tuple[int, ...] = ()  # per cent spent that are noticed: 80, 100 or both
    namespaces: tuple[str, ...] = ()
    cluster_queues: tuple[str, ...] = ()


class Receiver(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A webhook; its URL is a secret, so that it may stand in a file or a variable instead."""

    name: str
    url: str = ""
    url_file: str = ""
    url_variable: str = ""
    form: Form = Form.CLOUD_EVENTS
    rules: tuple[Rule, ...]


class Configuration(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """All receivers."""

    receivers: tuple[Receiver, ...]


def read_configuration(path: Path) -> Configuration:
    """Read and check a configuration file.

    Raises:
        SettingsError: it is no YAML, or a duration is none.
    """
    try:
        text = path.read_bytes()
        if len(text) > BYTES:
            raise ConfigurationError(f"{path} has {len(text)} bytes; {BYTES} are the most.")
        first, *others = parse_yaml(text, str(path)) or [None]
        if others:
            raise ConfigurationError(f"{path} holds several documents: give a file with one.")
        read = msgspec.convert(first, Configuration)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    _check_receivers(path, read)
    return read


def url_of(receiver: Receiver) -> str:
    """Return a receiver's URL from where it stands."""
    where = f"receiver {receiver.name}"
    if receiver.url_file:
        try:
            url = Path(receiver.url_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{where}: urlFile cannot be read: {error}.") from error
    elif receiver.url_variable:
        url = os.environ.get(receiver.url_variable, "")
    else:
        url = receiver.url
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise ConfigurationError(
            f"{where}: its URL is empty or not http:// or https://: set one of url, urlFile "
            "(the path of a file that holds it) and urlVariable (an environment variable)."
        )
    return url


def _check_receivers(path: Path, read: Configuration) -> None:
    if not read.receivers:
        raise ConfigurationError(f"{path}: receivers is empty: no notification would be sent.")
    names = [receiver.name for receiver in read.receivers]
    for place, receiver in enumerate(read.receivers):
        where = f"{path}: receivers[{place}]"
        if names.count(receiver.name) > 1:
            raise ConfigurationError(f"{where}: the name {receiver.name} comes twice.")
        if NAME.fullmatch(receiver.name) is None:
            raise ConfigurationError(
                f"{where}: name {receiver.name!r}: at most 63 of a-z, 0-9 and -."
            )
        if not receiver.rules:
            raise ConfigurationError(f"{where}: rules is empty: it would never get anything.")
        for number, rule in enumerate(receiver.rules):
            _check_rule(f"{where}.rules[{number}]", rule)
        url_of(receiver)


def _check_rule(where: str, rule: Rule) -> None:
    if not (rule.when or rule.waiting_longer_than or rule.budget_at):
        raise ConfigurationError(
            f"{where}: say when: [Admitted, …], waitingLongerThan: 30m or budgetAt: [80, 100]."
        )
    if wrong := [threshold for threshold in rule.budget_at if threshold not in BUDGET_AT]:
        raise ConfigurationError(f"{where}: budgetAt: {wrong[0]} is not reported: use 80 or 100.")
    if rule.budget_at and rule.namespaces:
        raise ConfigurationError(
            f"{where}: budgetAt is of ClusterQueues and Cohorts, and goes without namespaces."
        )
    if rule.waiting_longer_than:
        duration_us(rule.waiting_longer_than, f"{where}.waitingLongerThan", least_us=SECOND_US)
