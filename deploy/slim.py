"""``python -m deploy.slim IMAGE``: remove from an environment what a program never imports.

The Kubernetes library is used for access and configuration alone, and its generated calls and
models are most of it; each image has the loop, the languages and the databases that it needs.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

EVERYWHERE = (
    r"kubernetes/(aio/)?client/(api|models/(__pycache__/)?[a-z0-9]\w*)",
    r"cel_expr_python/ext",
    r"pygments/lexers/(__pycache__/)?[a-z]\w*",
    r"sqlalchemy/(orm|testing|dialects/(mssql|mysql|oracle))",
    r"alembic/testing",
)
LOOP, SQL = (r"uvloop",), (r"sqlalchemy", r"alembic", r"mako")
ONLY = {"cli": LOOP, "serve": LOOP, "webhook": (*LOOP, *SQL)}
"""What a command, and servers that few ask, do without."""


def remove(packages: Path, image: str) -> list[str]:
    """Remove what an image does without from a folder of packages; return what went."""
    wanted = "|".join((*EVERYWHERE, *ONLY.get(image, ())))
    pattern = re.compile(rf"({wanted})([.][\w.-]+)?")
    gone = list[str]()
    for path in sorted(packages.rglob("*")):
        name = path.relative_to(packages).as_posix()
        if pattern.fullmatch(name) and path.exists():
            gone.append(name)
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    return gone


def main(image: str) -> int:
    """Remove it from the environment that runs this; return the process's exit code."""
    (packages,) = Path(sys.prefix).glob("lib/python3*/site-packages")
    gone = remove(packages, image)
    sys.stdout.write(f"{image} does without {len(gone)} files and folders\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
