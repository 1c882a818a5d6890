"""Run a command that must not outlive us: ``python -m tidegate.bus.parent_death COMMAND ...``.

The guard waits for the end of its standard input, which its parent holds open and which the
system closes when the parent dies, however it dies. Then it ends the command: with SIGTERM, and
with SIGKILL if that does not help. On Linux the kernel ends the command if the guard is killed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading

PR_SET_PDEATHSIG = 1
END_S = 10.0


def main(command: list[str]) -> int:
    """Run the command until it ends or our standard input does; return its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a terminal's Ctrl-C is the parent's business
        signal.signal(number, signal.SIG_IGN)
    before = _die_with_guard if sys.platform == "linux" else None
    # The guard has one thread when it forks.
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=before)  # noqa: PLW1509, S603 - our own argument
    threading.Thread(target=_kill_at_end_of_input, args=(child,), daemon=True).start()
    return child.wait()


def _die_with_guard() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _kill_at_end_of_input(child: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1024):
        pass
    child.terminate()
    try:
        child.wait(END_S)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
