"""Kueue's own manifests on a control plane: its CRDs and webhooks, which lead to loopback.

No service leads out of an API server that runs beside no nodes, so each webhook is reached by its
URL. All else is as in the module: what Kueue defaults, refuses and converts, it does here too.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.e2e.cast import Object, define
from tests.parts.certificates import self_signed
from tidegate.cluster.install import apply, read_documents
from tidegate.kube.ports import KubernetesApi

NAMESPACE, SECRET = "kueue-system", "kueue-webhook-server-cert"
PREFIX = "kueue-"  # before the names of its webhooks' configurations
NAMES = ("kueue-ca", f"kueue-webhook-service.{NAMESPACE}.svc")  # what Kueue looks for in it
VALID = timedelta(days=365)  # Kueue renews what ends within 90 days, and no pod mounts that anew
NOT_ITS_OWN = {
    "matchExpressions": [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", NAMESPACE],
        }
    ]
}


async def install_kueue(api: KubernetesApi, source: Path, port: int, certificates: Path) -> None:
    """Apply what a Kueue needs that serves its webhooks at a port of loopback.

    ``certificates`` gets their certificate and key: the folder that Kueue is to read.
    """
    certificate = write_certificate(certificates)
    for manifest in manifests(source / "config" / "components"):
        await define(api, at_loopback(manifest, port, certificate))
    await apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    texts = {name: (certificates / name).read_text() for name in ("tls.crt", "tls.key")}
    texts |= {"ca.crt": texts["tls.crt"], "ca.key": texts["tls.key"]}
    metadata = {"name": SECRET, "namespace": NAMESPACE}
    made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": texts}
    await apply(api, made)


def manifests(components: Path) -> Iterator[Object]:
    """Yield the CRDs, with the patches that Kueue's kustomization puts on them, and webhooks."""
    crds = components / "crd"
    (kustomization,) = read_documents((crds / "kustomization.yaml").read_text())
    patched = [_one(crds / patch["path"]) for patch in kustomization["patches"]]
    by_name = {patch["metadata"]["name"]: patch["spec"] for patch in patched}
    for path in kustomization["resources"]:
        crd = _one(crds / path)
        yield {**crd, "spec": {**crd["spec"], **by_name.get(crd["metadata"]["name"], {})}}
    for made in read_documents((components / "webhook" / "manifests.yaml").read_text()):
        made["metadata"]["name"] = PREFIX + made["metadata"]["name"]
        for webhook in made["webhooks"]:
            group = webhook["rules"][0]["apiGroups"][0]
            spared = {} if group == "kueue.x-k8s.io" else {"namespaceSelector": NOT_ITS_OWN}
            webhook.update(spared)
        yield made


def at_loopback(value: Any, port: int, certificate: bytes) -> Any:  # noqa: ANN401 - any part of it
    """Return a manifest in which the clients of webhooks have a URL in place of a service."""
    match value:
        case {"clientConfig": {"service": {"path": path}}}:
            authority = b64encode(certificate).decode()
            fields = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": authority}
            return {**value, "clientConfig": fields}
        case dict():
            return {key: at_loopback(value, port, certificate) for key, value in value.items()}
        case list():
            return [at_loopback(item, port, certificate) for item in value]
        case _:
            return value


def write_certificate(folder: Path) -> bytes:
    """Write tls.crt and tls.key into a folder, and return the certificate: its own authority.

    The key is RSA in PKCS 1, the only form that Kueue reads.
    """
    folder.mkdir(parents=True, exist_ok=True)
    key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
    certificate = self_signed(key, NAMES, VALID)
    (folder / "tls.crt").write_bytes(certificate)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (folder / "tls.key").write_bytes(secret)
    return certificate


def _one(path: Path) -> Object:
    (fields,) = read_documents(path.read_text())
    return fields
