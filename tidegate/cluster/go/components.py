"""The command line of each component, and when it is ready."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import yaml

from tidegate.cluster.go.credentials import NAME

_LAZY_PERCENT, _MEMORY_SHARE = 400, 4
_LOOPBACK = "http://127.0.0.1"


class Ports(msgspec.Struct, frozen=True):
    """The ports of loopback that a control plane listens on."""

    etcd: int
    etcd_peer: int
    api: int


class Layout(msgspec.Struct, frozen=True):
    """Where a control plane's binaries and files are, and how many nodes it plays."""

    binaries: Path
    folder: Path
    nodes_count: int

    @property
    def kubeconfig(self) -> Path:
        """Return where the kubeconfig is."""
        return self.folder / "kubeconfig"


def component_commands(layout: Layout, ports: Ports) -> Mapping[str, tuple[str, ...]]:
    """Return each component's command, in the order in which they are started."""
    return {
        "etcd": _etcd(layout, ports),
        "kube-apiserver": _api_server(layout, ports),
        "kube-controller-manager": _controller_manager(layout),
        "kube-scheduler": _scheduler(layout),
        "nodes": _nodes(layout),
    }


def component_environment(name: str, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return a component's environment: what is given, and where that is silent what suits it.

    Collecting garbage less often takes a fifth off an API server's CPU time for a write, and lets
    it hold several times the memory, so it does that only up to a quarter of the machine's.
    """
    if name != "kube-apiserver":
        return environ
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lazy = {"GOGC": str(_LAZY_PERCENT), "GOMEMLIMIT": str(memory // _MEMORY_SHARE)}
    return {**lazy, **environ}


def write_scheduler_config(layout: Layout) -> None:
    """Write the scheduler's configuration, which has no flags for what it holds."""
    connection = {"kubeconfig": str(layout.kubeconfig), "qps": 1000, "burst": 1000}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": connection,
        "leaderElection": {"leaderElect": False},
    }
    (layout.folder / "scheduler.yaml").write_text(yaml.safe_dump(config))


def _etcd(layout: Layout, ports: Ports) -> tuple[str, ...]:
    client, peer = f"{_LOOPBACK}:{ports.etcd}", f"{_LOOPBACK}:{ports.etcd_peer}"
    return (
        str(layout.binaries / "etcd"),
        f"--data-dir={layout.folder / 'etcd'}",
        "--unsafe-no-fsync",  # a local cluster may be lost with its machine
        "--log-level=warn",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
    )


def _api_server(layout: Layout, ports: Ports) -> tuple[str, ...]:
    folder = layout.folder
    return (
        str(layout.binaries / "kube-apiserver"),
        f"--etcd-servers={_LOOPBACK}:{ports.etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={ports.api}",
        f"--tls-cert-file={folder / 'tls.crt'}",
        f"--tls-private-key-file={folder / 'tls.key'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'service-account.key'}",
        f"--service-account-signing-key-file={folder / 'service-account.key'}",
        "--service-cluster-ip-range=10.96.0.0/24",
        "--endpoint-reconciler-type=none",  # endpoints may not be on loopback
        "--disable-admission-plugins=ServiceAccount",  # a pod may come right after its namespace
        # Requests that are passed on to an aggregated API name this proxy and the user.
        f"--requestheader-client-ca-file={folder / 'tls.crt'}",
        f"--requestheader-allowed-names={NAME}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={folder / 'tls.crt'}",
        f"--proxy-client-key-file={folder / 'tls.key'}",
        "--profiling=false",
    )


def _controller_manager(layout: Layout) -> tuple[str, ...]:
    return (
        str(layout.binaries / "kube-controller-manager"),
        f"--kubeconfig={layout.kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        "--profiling=false",
        f"--service-account-private-key-file={layout.folder / 'service-account.key'}",
        f"--flex-volume-plugin-dir={layout.folder / 'flexvolume'}",  # by default made in /usr
        "--kube-api-qps=1000",  # at the default of 20 every burst of Jobs waits for it
        "--kube-api-burst=1000",
    )


def _scheduler(layout: Layout) -> tuple[str, ...]:
    return (
        str(layout.binaries / "kube-scheduler"),
        f"--config={layout.folder / 'scheduler.yaml'}",
        "--secure-port=0",
    )


def _nodes(layout: Layout) -> tuple[str, ...]:
    return (
        sys.executable,
        "-P",
        "-m",
        "tidegate.cluster.nodes",
        f"--kubeconfig={layout.kubeconfig}",
        f"--nodes={layout.nodes_count}",
    )
