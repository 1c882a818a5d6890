"""How a worker cluster that a ClusterProfile describes is logged in to: by a plugin.

Source: multikueue.md 4 (clusterProfile); KEP 5339 of Kubernetes; the ExecConfig of a kubeconfig.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

Name: TypeAlias = Annotated[str, Meta(min_length=1)]


class PluginVariable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable of a plugin's environment."""

    name: Name
    value: str


class ExecConfig(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A plugin that prints an ExecCredential; it is never asked at a terminal."""

    command: Name
    api_version: Literal["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]
    interactive_mode: Literal["Never", "IfAvailable", "Always"]
    args: tuple[str, ...] = ()
    env: tuple[PluginVariable, ...] = ()
    provide_cluster_info: bool = False  # the plugin receives the cluster that it logs in to
    install_hint: str = ""


class AccessProvider(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """The plugin for what a ClusterProfile calls by the same name."""

    name: Name
    exec_config: ExecConfig
