"""``python -m tidegate.generate.install``: write deploy/install.yaml, all of Tidegate in one file.

It is what kustomize makes of the overlay "embedded". kustomize is taken from the PATH, alone or
within kubectl.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tidegate.errors import NotSupportedError

OVERLAY, FILE = "deploy/overlays/embedded", "deploy/install.yaml"
LISTED = ("crds", "policies", "rbac")
"""Folders of manifests with a list of what they hold."""
HEAD = """\
# Tidegate in one pod, with its own bus and a SQLite ledger on a volume:
#   kubectl apply --filename deploy/install.yaml
# Made by `python -m tidegate.generate.install` from deploy/overlays/embedded: do not edit.
"""


def find_kustomize() -> list[str]:
    """Return the command that builds an overlay; empty: there is none.

    Install kustomize (https://kubectl.docs.kubernetes.io) or kubectl.
    """
    if kustomize := shutil.which("kustomize"):
        return [kustomize, "build"]
    if kustomize := shutil.which("kubectl"):
        return [kustomize, "kustomize"]
    return []


def run_kustomize(folder: Path) -> str:
    """Return what kustomize makes of a folder.

    Raises:
        NotSupportedError: there is no kustomize, or it failed: the message has its output.
    """
    command = find_kustomize()
    if not command:
        raise NotSupportedError("There is neither kustomize nor kubectl on the PATH.")
    done = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)  # noqa: S603 - found above
    if done.returncode:
        raise NotSupportedError(f"kustomize {folder} failed: {done.stderr}")
    return done.stdout


def kustomization_of(folder: Path) -> str:
    """Return the Kustomization of a folder of manifests."""
    names = sorted(path.name for path in folder.glob("*.yaml"))
    head = "# What this folder holds: python -m tidegate.generate.install writes it.\n"
    kind = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
    return head + kind + "".join(f"- {name}\n" for name in names)


def main(root: Path) -> int:
    """Write the lists, then the file; return the process's exit code."""
    for name in LISTED:
        folder = root / "deploy" / name
        (folder / "Kustomization").write_text(kustomization_of(folder))
    try:
        text = run_kustomize(root / OVERLAY)
    except NotSupportedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    (root / FILE).write_text(HEAD + text)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parents[2]))
