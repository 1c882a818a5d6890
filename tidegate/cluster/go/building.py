"""Building the control plane once, into the user's cache folder.

Two builds at once wait for each other; what is built already is found again. A build that fails
leaves no stamp, and the next one goes on from Go's own cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tidegate.errors import TidegateError

ETCD = "etcd"
GO_WANTED = (1, 26)
GO_PLACES = ("/usr/local/go/bin", "/usr/lib/go/bin")  # where installers put it, beside the PATH
Progress = Callable[[str, int, int], None]
"""Gets a step's name, how much of it is done, and of how much (0: unknown)."""
_STAMP = "k8s.io/component-base/version"
_PACKAGE = re.compile(r"[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*")


def cache_folder() -> Path:
    """Return the user's cache folder of Tidegate; it may not exist yet."""
    named = os.environ.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / "tidegate"


class Release(msgspec.Struct, frozen=True):
    """A version of Kubernetes that can be built, and the Go module that pins it."""

    version: str
    module: str  # a folder beside this file
    has_etcd: bool = True  # else the newest one's is used

    @property
    def path(self) -> Path:
        """Return the module's folder."""
        return Path(__file__).parent / self.module

    @property
    def folder(self) -> Path:
        """Return where the binaries are kept."""
        return cache_folder() / f"controlplane-{self.version}"

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags of go; without a version the server calls itself v0.0.0-master."""
        major, minor, _ = self.version.split(".")
        version_fields = {"gitVersion": f"v{self.version}", "gitMajor": major, "gitMinor": minor}
        stamps = " ".join(f"-X {_STAMP}.{name}={value}" for name, value in version_fields.items())
        return ("-trimpath", "-ldflags", f"-s -w {stamps}")


NEWEST, OLDEST = Release("1.36.3", "module"), Release("1.30.14", "oldest", has_etcd=False)
RELEASES = {release.version: release for release in (NEWEST, OLDEST)}
"""What can be built, by its version. The oldest is the first with ValidatingAdmissionPolicy."""


class NotBuildableError(TidegateError):
    """The control plane cannot be built here; the message has what is missing."""


def is_built(release: Release = NEWEST) -> bool:
    """Return whether the binaries of just this version and recipe are there."""
    stamp = release.folder / "stamp"
    return stamp.exists() and stamp.read_text() == _recipe_digest(release)


def why_not_buildable() -> str:
    """Return what is missing for a build, as a sentence; empty: nothing."""
    required = ".".join(map(str, GO_WANTED))
    advice = f"install Go {required} or newer from https://go.dev/dl and put it on the PATH"
    go = find_go()
    if go is None:
        return f"Go is missing: {advice}."
    result = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False)  # noqa: S603 - found above
    match = re.match(r"go(\d+)\.(\d+)", result.stdout)
    if match is None or tuple(map(int, match.groups())) < GO_WANTED:
        return f"Go is too old ({result.stdout.strip() or 'unknown'}): {advice}."
    return ""


def find_go() -> str | None:
    """Return the path of the go command, also where installers put it beside the PATH."""
    return shutil.which("go") or shutil.which("go", path=os.pathsep.join(GO_PLACES))


def build(progress: Progress, release: Release = NEWEST) -> Path:
    """Build what is not built yet, and return the folder of the binaries.

    Raises:
        NotBuildableError: Go is missing or too old, or the build failed.
    """
    etcd = None if release.has_etcd else build(progress) / ETCD
    target = release.folder
    target.mkdir(parents=True, exist_ok=True)
    with _build_lock(target / "lock", progress):
        if is_built(release):
            return target
        if why := why_not_buildable():
            raise NotBuildableError(why)
        _build_into(target, release, progress)
        if etcd is not None:
            shutil.copy2(etcd, target / ETCD)
        (target / "stamp").write_text(_recipe_digest(release))
    return target


def _build_into(target: Path, release: Release, progress: Progress) -> None:
    fresh = target / "new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    progress("fetching Go modules", 0, 0)
    _run(release, ["mod", "download"])
    total = len(_run(release, ["list", "-deps", "tool"]))
    for done in _compile(release, ["build", "-v", *release.flags, "-o", f"{fresh}/", "tool"]):
        progress("compiling packages", done, total)
    if release.has_etcd:
        (fresh / "server").rename(fresh / ETCD)  # etcd's main package is named server
    for binary in fresh.iterdir():
        binary.replace(target / binary.name)
    fresh.rmdir()


def _compile(release: Release, arguments: Sequence[str]) -> Iterator[int]:
    """Run go, and yield how many packages it compiled so far."""
    count, others = 0, list[str]()
    with _start_go(
        release, arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if _PACKAGE.fullmatch(line.strip()):
                count += 1
                yield count
            else:
                others.append(line.rstrip())
    _check(process.returncode, arguments, others)


def _run(release: Release, arguments: Sequence[str]) -> list[str]:
    with _start_go(release, arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        lines = process.stdout.read().splitlines()
    _check(process.returncode, arguments, lines)
    return lines


def _start_go(
    release: Release, arguments: Sequence[str], *, stdout: int, stderr: int
) -> subprocess.Popen[str]:
    go = find_go()
    assert go is not None, "looked for before"
    return subprocess.Popen(  # noqa: S603 - found above
        ["nice", go, *arguments],  # noqa: S607 - nice is everywhere
        cwd=release.path,
        env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=readonly"},
        stdout=stdout,
        stderr=stderr,
        text=True,
    )


def _check(code: int, arguments: Sequence[str], lines: Sequence[str]) -> None:
    if code:
        end = "\n".join(lines[-10:])
        raise NotBuildableError(f"go {arguments[0]} failed with exit code {code}:\n{end}")


def _recipe_digest(release: Release) -> str:
    parts = [(release.path / name).read_bytes() for name in ("go.mod", "go.sum")]
    flags = " ".join(release.flags).encode()
    return hashlib.sha256(b"\0".join([*parts, flags])).hexdigest()


@contextmanager
def _build_lock(path: Path, progress: Progress) -> Generator[None]:
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another build", 0, 0)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
