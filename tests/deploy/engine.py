"""buildah for tests: images built without a registry, from a base that is made of Debian packages.

Both come from the PATH. Only root may do it: what is built runs in a chroot.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tidegate.cluster.go.building import cache_folder

ROOT = Path(__file__).parents[2]
INSTALL = "(Debian: apt install buildah mmdebstrap)"
BASE = "localhost/tidegate-base"
PACKAGES = ("python3", "python3-pip", "ca-certificates")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
BUILD_S = 1_200


class Ran(NamedTuple):
    """What a program in an image answered."""

    code: int
    output: str  # of both streams


class Engine:
    """Images in a folder of their own, ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        policy = folder / "policy.json"
        policy.write_text(json.dumps({"default": [{"type": "insecureAcceptAnything"}]}))
        (folder / "registries.conf").write_text("unqualified-search-registries = []\n")
        self._policy = ("--signature-policy", str(policy))

    def base(self) -> None:
        """Make the base: Debian's Python with pip under the names that python:slim has."""
        packed = _packed_base()
        container = self._buildah("from", *self._policy, "scratch").strip()
        self._buildah("add", "--quiet", container, str(packed), "/")
        mounted = Path(self._buildah("mount", container).strip())
        (mounted / "usr/bin/python").symlink_to("python3")
        for note in mounted.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
            note.unlink()
        if AUTHORITIES.exists():  # an authority of the network's own, too
            shutil.copyfile(AUTHORITIES, mounted / AUTHORITIES.relative_to("/"))
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        self._buildah("config", "--env", path, "--env", "UV_SYSTEM_CERTS=1", container)
        self._buildah("commit", "--quiet", *self._policy, container, BASE)
        self._buildah("rm", container)  # and what is mounted of it

    def build(self, target: str) -> str:
        """Build a target of the Containerfile on the base; return the image's name."""
        image = f"localhost/tidegate-{target}"
        given = ("--layers", "--isolation", "chroot", "--build-arg", f"BASE={BASE}")
        ignored = ("--ignorefile", str(ROOT / ".containerignore"))
        file = ("--file", str(ROOT / "deploy" / "Containerfile"), "--target", target)
        self._buildah("build", *self._policy, *given, *ignored, *file, "--tag", image, str(ROOT))
        return image

    def megabytes(self, image: str) -> float:
        """Return the size of an image in 10^6 bytes, its base's included."""
        (listed,) = json.loads(self._buildah("images", "--json", image))
        number, unit = listed["size"].split()
        return float(number) * {"kB": 1e-3, "MB": 1.0, "GB": 1e3}[unit]

    def run(self, image: str, *arguments: str, entrypoint: Sequence[str] = ()) -> Ran:
        """Run an image's own command, or another, as its user on a read-only root."""
        config = json.loads(self._buildah("inspect", "--type", "image", image))["OCIv1"]["config"]
        container = self._buildah("from", *self._policy, image).strip()
        root = self._buildah("mount", container).strip()
        # Only in a namespace of its own, so that nothing stays mounted.
        script = (
            'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && user="$1" && shift && '
            'exec chroot --userspec="$user" "$0" "$@"'
        )
        command = ["unshare", "--mount", "sh", "-c", script, root, config["User"]]
        done = subprocess.run(
            [*command, *(entrypoint or config["Entrypoint"]), *arguments],
            env=dict(entry.split("=", 1) for entry in config["Env"]),
            capture_output=True,
            text=True,
            timeout=BUILD_S,
            check=False,
        )
        self._buildah("rm", container)  # and what is mounted of it
        return Ran(done.returncode, done.stdout + done.stderr)

    def _buildah(self, *arguments: str) -> str:
        store = ("--root", str(self._folder / "store"), "--runroot", str(self._folder / "run"))
        registries = ("--registries-conf", str(self._folder / "registries.conf"))
        done = subprocess.run(
            ["nice", "buildah", *store, *registries, *arguments],  # noqa: S607 - as above
            env={**os.environ, "BUILDAH_ISOLATION": "chroot"},
            capture_output=True,
            text=True,
            timeout=BUILD_S,
            check=False,
        )
        assert done.returncode == 0, f"buildah {arguments[0]}: {done.stderr[-3000:]}"
        return done.stdout


def engine(folder: Path) -> Engine:
    """Return an engine whose images lie in a folder; skip the test if there can be none."""
    if os.geteuid() != 0:
        pytest.skip("Only root may build images in a chroot: run this test as root.")
    if missing := [name for name in ("buildah", "unshare", "chroot") if not shutil.which(name)]:
        pytest.skip(f"There is no {', '.join(missing)} to build images with {INSTALL}.")
    return Engine(folder)


def _packed_base() -> Path:
    """Return a file system of Debian packages, packed; it is made once for this user."""
    kept = cache_folder() / "base-bookworm.tar"
    if kept.exists():
        return kept
    if not (program := shutil.which("mmdebstrap")):
        pytest.skip(f"There is no mmdebstrap to make a base of Debian packages with {INSTALL}.")
    fresh = kept.with_name(f"base-{os.getpid()}.tar")
    options = ("--mode=root", "--variant=minbase", f"--include={','.join(PACKAGES)}")
    done = subprocess.run(
        [program, *options, "bookworm", str(fresh)],
        capture_output=True,
        text=True,
        timeout=BUILD_S,
        check=False,
    )
    if done.returncode:
        pytest.skip(
            f"mmdebstrap made no base ({done.stderr[-300:].strip()}): let it reach a Debian mirror."
        )
    fresh.replace(kept)
    return kept
