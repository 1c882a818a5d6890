"""What work costs by the lines of code that it executes: the same on any machine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

Lines = Counter[CodeType]
"""Lines that were executed of each function, of those that were counted."""


@contextmanager
def count_lines(*packages: str) -> Generator[Lines]:
    """Count the executed lines of functions in modules of these packages, in this thread."""
    lines, wanted = Lines(), dict[CodeType, bool]()

    def count(frame: FrameType, event: str, _arg: Any) -> Any:  # noqa: ANN401 - as settrace has it
        if event == "line":
            lines[frame.f_code] += 1
        return count

    def enter(frame: FrameType, _event: str, _arg: Any) -> Any:  # noqa: ANN401 - see above
        code = frame.f_code
        if code not in wanted:
            wanted[code] = str(frame.f_globals.get("__name__")).startswith(packages)
        return count if wanted[code] else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        yield lines
    finally:
        sys.settrace(before)


def by_function(lines: Lines) -> dict[str, int]:
    """Return executed lines by function, the most first."""
    return {
        f"{code.co_filename.rpartition('/')[2]}:{code.co_qualname}": count
        for code, count in lines.most_common()
    }
