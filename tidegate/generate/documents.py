"""Every generated file by its path in the checkout, as text."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tidegate.cli.completion.table import completion_table_text
from tidegate.cli.reference import reference_page
from tidegate.contracts.documents.asyncapi import asyncapi
from tidegate.contracts.documents.schema import decisions, facts, json_schema, name_of, observations
from tidegate.generate.events_page import events_page
from tidegate.generate.kinds_page import PAGE, kinds_page
from tidegate.kinds.manifests import files
from tidegate.kinds.policies.webhooks import webhook_configuration

_ROOT = Path(__file__).parents[2]
VIEWS = "store/views/view_texts.json"
WORDS = "tidegate/cli/completion/completion_words.json"
_LINE = 80
_HEAD = "# Made by `make generate` from {source}: do not edit.\n"


class _Plain(yaml.SafeDumper):
    """Writes shared values out each time: manifests are read by people."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401  # any value
        """Let YAML write no anchors."""
        return data is not Ellipsis


def _represent_text(dumper: _Plain, text: str) -> yaml.ScalarNode:
    style = ">" if len(text) > _LINE or "'" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Plain.add_representer(str, _represent_text)


def documents() -> dict[str, str]:
    """Return the text of every generated file by its path from the root of the checkout."""
    from store.views.catalog import text_of_all  # noqa: PLC0415 - to print YAML needs no SQL

    return {
        **_manifest_files(),
        **_contract_files(),
        **_schema_files(),
        PAGE: kinds_page((_ROOT / PAGE).read_text()),
        WORDS: completion_table_text(),
        VIEWS: text_of_all(),
    }


def generated_folders() -> tuple[str, ...]:
    """Return the folders in which everything is generated."""
    return ("deploy/crds", "deploy/policies", "docs/schemas")


def _manifest_files() -> dict[str, str]:
    head = _HEAD.format(source="tidegate/kinds")
    manifests = files()
    webhook = webhook_configuration([manifest for each in manifests.values() for manifest in each])
    return {
        **{f"deploy/{path}": head + as_yaml(manifest) for path, manifest in manifests.items()},
        "deploy/components/webhook/configuration.yaml": head + as_yaml([webhook]),
    }


def _contract_files() -> dict[str, str]:
    head = _HEAD.format(source="tidegate/contracts")
    return {
        "docs/asyncapi.yaml": head + as_yaml([asyncapi(version("tidegate"))]),
        "docs/events.md": events_page(),
        "docs/reference/cli.md": reference_page(),
    }


def _schema_files() -> dict[str, str]:
    packages = {"events": (*facts(), *decisions()), "observations": observations()}
    return {
        f"docs/schemas/{package}/{name_of(message)}.json": _json(json_schema(message))
        for package, messages in packages.items()
        for message in messages
    }


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def as_yaml(values: Iterable[object]) -> str:
    """Return documents as YAML that people can read: nothing shortened, long texts folded."""
    return yaml.dump_all(
        values, Dumper=_Plain, sort_keys=False, width=98, allow_unicode=True, indent=2
    )
