"""Write every generated file anew: ``python -m tidegate.generate``, in a checkout.

There is no other generator. A test fails when what is checked in is not what this writes. With
names of job kinds (``batch/job pod``) it writes the policies about those to standard output.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tidegate.generate import install
from tidegate.generate.documents import as_yaml, documents, generated_folders
from tidegate.kinds.manifests import policies
from tidegate.kinds.policies.frameworks import NAMES


def main(root: Path) -> int:
    """Write what differs below ``root``, remove what is no longer made, and say both."""
    expected = documents()
    for folder in generated_folders():
        for path in sorted((root / folder).rglob("*.*")):
            if path.relative_to(root).as_posix() not in expected:
                path.unlink()
                sys.stdout.write(f"removed {path.relative_to(root)}\n")
    for name, text in expected.items():
        path = root / name
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            sys.stdout.write(f"wrote {name}\n")
    return install.main(root) if (root / install.OVERLAY).is_dir() else 0


def print_policies(frameworks: tuple[str, ...]) -> int:
    """Write the policies about these job kinds to standard output, or say which kinds there are."""
    unknown = sorted(set(frameworks) - set(NAMES))
    if unknown:
        sys.stderr.write(f"no job kind {', '.join(unknown)}; there are {', '.join(NAMES)}\n")
        return 2
    sys.stdout.write(as_yaml(policies(frameworks)))
    return 0


if __name__ == "__main__":
    sys.exit(
        print_policies(tuple(sys.argv[1:])) if sys.argv[1:] else main(Path(__file__).parents[2])
    )
