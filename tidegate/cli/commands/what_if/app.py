"""``tidegate what-if``: what another configuration, another load or one more job would come to."""

from __future__ import annotations

from tidegate.cli.lazy import Command, command_group

app = command_group(
    "what-if",
    "Simulate another configuration, a load from files, or one more job.",
    Command("config", "what_if.config", "config"),
    Command("load", "what_if.load", "load"),
    Command("submit", "what_if.submit", "submit"),
)
