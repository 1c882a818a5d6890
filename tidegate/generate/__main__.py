"""Write every generated file anew: ``python -m tidegate.generate``, in a checkout.

There is no other generator. A test fails when what is checked in is not what this writes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tidegate.generate.documents import documents, folders


def main(root: Path) -> int:
    """Write what differs below ``root``, remove what is no longer made, and say both."""
    wanted = documents()
    for folder in folders():
        for path in sorted((root / folder).rglob("*.*")):
            if path.relative_to(root).as_posix() not in wanted:
                path.unlink()
                sys.stdout.write(f"removed {path.relative_to(root)}\n")
    for name, text in wanted.items():
        path = root / name
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            sys.stdout.write(f"wrote {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parents[2]))
