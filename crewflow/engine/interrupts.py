"""Signals that ask a run to end, taken in by a handler that only notes them and wakes the loop."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any, Final, Self

from crewflow.errors import ExitCode

if TYPE_CHECKING:
    from types import FrameType, TracebackType

EXIT_CODES: Final = {
    "SIGHUP": ExitCode.SIGHUP,
    "SIGINT": ExitCode.SIGINT,
    "SIGTERM": ExitCode.SIGTERM,
}
"""The signals that are handled, and what the command exits with after each."""


class Interrupts:
    """While it is open, the signals of `EXIT_CODES` are noted instead of acted on, unless they are ignored.

    Attributes:
        wake_fd: readable as soon as a signal has come; `take` drains it.
        first: the name of the first signal; None if none has come.
    """

    def __init__(self) -> None:
        self.wake_fd, self._write_fd = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.first: str | None = None
        self._noted: list[str] = []
        self._former: dict[int, Any] = {}
        self._former_fd = -1

    def __enter__(self) -> Self:
        self._former_fd = signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        for name in EXIT_CODES:
            number = signal.Signals[name]
            # what is ignored stays so: that is what `nohup` and a shell's `&` ask for
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._former[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)
        signal.set_wakeup_fd(self._former_fd)
        os.close(self.wake_fd)
        os.close(self._write_fd)

    def take(self) -> list[str]:
        """The names of the signals since the last call, in order."""
        if not self._noted:
            return []
        self._drain()
        noted, self._noted = self._noted, []
        return noted

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        name = signal.Signals(number).name
        self.first = self.first or name
        self._noted.append(name)

    def _drain(self) -> None:
        try:
            while os.read(self.wake_fd, 4096):
                pass
        except BlockingIOError:
            return
