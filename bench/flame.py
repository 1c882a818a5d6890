"""Draw a flame graph of collapsed stacks: ``python -m bench.flame STACKS OUT.svg [TITLE]``.

Stacks are what ``py-spy record --format raw`` writes: ``outer (file:1);inner (file:2) COUNT``. A
box is as wide as the time in which it was on the stack; of paths only the last folder stays, waits
for work are left out, and so are boxes too narrow to be seen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr
from zlib import crc32

WIDTH, ROW, TOP, LETTER, NARROW = 1_000.0, 15, 30, 6.2, 1.5
IDLE = ("select (selectors.py", "_worker (concurrent/futures/thread.py")
START = ("_run_module_as_main", "_run_code", "_bootstrap", "_bootstrap_inner", "<module>")
"""Outermost boxes that every stack has."""


@dataclass
class Box:
    """One function where it was called from."""

    count: int = 0
    inner: dict[str, Box] = field(default_factory=dict)


def main(arguments: Sequence[str]) -> int:
    """Read, draw, write; return 0."""
    stacks, out, *title = arguments
    lines = Path(stacks).read_text().splitlines()
    Path(out).write_text(draw_svg(collect_stacks(lines), " ".join(title) or Path(stacks).stem))
    return 0


def collect_stacks(lines: Iterable[str]) -> Box:
    """Return the tree of all stacks but those that wait."""
    root = Box()
    for line in lines:
        stack, _, count = line.rpartition(" ")
        frames = [_frame_name(frame) for frame in stack.split(";")]
        if any(idle in frames[-1] for idle in IDLE):
            continue
        box = root
        box.count += int(count)
        for frame in frames:
            if not frame.startswith(START):
                box = box.inner.setdefault(frame, Box())
                box.count += int(count)
    return root


def draw_svg(root: Box, title: str) -> str:
    """Return the graph as SVG, the outermost functions at the top."""
    boxes = list(_place_boxes(root, 0.0, 0, WIDTH / max(root.count, 1)))
    height = TOP + ROW * (1 + max((depth for _, _, _, depth in boxes), default=0))
    shapes = "\n".join(_box_svg(*box, root.count) for box in boxes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height}" '
        f'font-family="monospace" font-size="10">\n'
        f'<text x="4" y="18" font-size="13">{escape(title)}</text>\n{shapes}\n</svg>\n'
    )


def _place_boxes(
    box: Box, x: float, depth: int, scale: float
) -> Iterator[tuple[str, Box, float, int]]:
    for name, inner in sorted(box.inner.items()):
        if inner.count * scale >= NARROW:
            yield name, inner, x, depth
            yield from _place_boxes(inner, x, depth + 1, scale)
        x += inner.count * scale


def _box_svg(name: str, box: Box, x: float, depth: int, total: int) -> str:
    width, y = WIDTH * box.count / total, TOP + depth * ROW
    share = f"{100 * box.count / total:.1f} %"
    letters = int((width - 4) / LETTER)
    text = escape(name.partition(" (")[0][:letters]) if letters > 2 else ""  # noqa: PLR2004 - letters
    colour = f"hsl({20 + crc32(name.encode()) % 35},80%,70%)"
    written = f'<text x="{x + 2:.1f}" y="{y + 11}">{text}</text>' if text else ""
    return (
        f"<g><title>{escape(name)}: {share}</title>"
        f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.5, 0.5):.1f}" height="{ROW - 1}" '
        f"fill={quoteattr(colour)}/>{written}</g>"
    )


def _frame_name(frame: str) -> str:
    """Return a frame without its line, and with only the last folder of its path."""
    name, _, place = frame.partition(" (")
    path = place.rstrip(")").rpartition(":")[0] or place.rstrip(")")
    return f"{name} ({'/'.join(path.split('/')[-2:])})" if path else name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
