"""The lease of a run: who holds it may write its journal, and nobody else.

    lease = acquire(run, purpose="run", clock=clock)   # HeldError names the holder
    ... lease.heartbeat() now and then ...
    lease.release()

The lease is the lock of the file `lease`: it vanishes with its holder, however that ends, and no age of
anything takes it from a holder that lives. `lease.json` beside it says for people who the holder is; it
decides nothing, so a process id in it that means another program by now does no harm.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crewflow import durable
from crewflow.errors import HeldError, StateError

if TYPE_CHECKING:
    from crewflow.clock import Clock
    from crewflow.state.paths import RunPaths

HEARTBEAT_SECONDS = 60.0

_SAID = {"pid": int, "start": int, "boot_id": str, "host": str, "purpose": str, "wall": float, "boot": float}


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease, as it said itself. What is None it did not say.

    Attributes:
        start: when its process started, in clock ticks since the machine did; tells it from a later
            process with the same id.
        wall, boot: when it last gave a sign of life, in seconds by the wall clock and since the machine
            started.
    """

    pid: int | None = None
    start: int | None = None
    boot_id: str | None = None
    host: str | None = None
    purpose: str | None = None
    wall: float | None = None
    boot: float | None = None

    def age(self, clock: Clock) -> float | None:
        """Seconds since its last sign of life; None for one on another machine, whose clock is its own."""
        if self.boot is None or self.boot_id is None or self.boot_id != boot_id():
            return None
        return max(clock.boot() - self.boot, 0.0)


class Lease:
    """A lease that is held."""

    def __init__(self, run: RunPaths, lock: durable.Lock, purpose: str, clock: Clock) -> None:
        self._run = run
        self._lock = lock
        self._purpose = purpose
        self._clock = clock
        self._next_beat = clock.boot()

    def heartbeat(self) -> float:
        """Give a sign of life when one is due; returns the seconds until the next one is.

        Raises:
            StateError: the system refuses.
        """
        now = self._clock.boot()
        if now >= self._next_beat:
            durable.replace_file(self._run.lease_text, self._text(), sync=False)
            self._next_beat = now + HEARTBEAT_SECONDS
        return self._next_beat - now

    def release(self) -> None:
        """Let go. May be called again."""
        self._lock.release()

    def _text(self) -> bytes:
        pid = os.getpid()
        holder = Holder(
            pid=pid,
            start=process_start(pid),
            boot_id=boot_id(),
            host=socket.gethostname(),
            purpose=self._purpose,
            wall=self._clock.wall(),
            boot=self._clock.boot(),
        )
        return json.dumps(asdict(holder)).encode() + b"\n"


def acquire(run: RunPaths, *, purpose: str, clock: Clock, wait: float = 0.5) -> Lease:
    """Take the lease of a run, waiting `wait` seconds at most; `purpose` says what for, in a word.

    Raises:
        HeldError: another process holds it; the text says which, since when, and what to do.
        StateError: the lease or its text is a symbolic link, or the system refuses.
    """
    lock = durable.try_lock(run.lease, wait=wait)
    if lock is None:
        raise HeldError(
            f"run `{run.run_id}` is held by {_describe(_read_text(run), clock)}",
            hint="wait for it, or look at it with `crewflow status`",
        )
    lease = Lease(run, lock, purpose, clock)
    try:
        lease.heartbeat()
    except StateError:
        lease.release()
        raise
    return lease


def holder(run: RunPaths) -> Holder | None:
    """Who holds the lease of a run, or None. Takes nothing, changes nothing, disturbs nobody.

    Raises:
        StateError: the lease is a symbolic link, or the system refuses.
    """
    return _read_text(run) if durable.is_locked(run.lease) else None


def boot_id() -> str | None:
    """The name of this start of the machine; None where the system gives it none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def process_start(pid: int) -> int | None:
    """When a process started, in clock ticks since the machine did; None when it is gone or nobody says."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[19])


def _read_text(run: RunPaths) -> Holder:
    """What the holder says of itself; a text that cannot be read says nothing."""
    try:
        said = json.loads(durable.read_file(run.lease_text) or b"{}")
    except (StateError, ValueError):
        return Holder()
    fields: dict[str, Any] = said if isinstance(said, dict) else {}
    return Holder(
        **{name: fields[name] for name, kind in _SAID.items() if isinstance(fields.get(name), kind)}
    )


def _describe(who: Holder, clock: Clock) -> str:
    name = "another process" if who.pid is None else f"process {who.pid}"
    on = "" if who.host is None else f" on `{who.host}`"
    purpose = "" if who.purpose is None else f", purpose `{who.purpose}`"
    age = who.age(clock)
    return f"{name}{on}{purpose}{'' if age is None else f', last sign of life {age:.0f} s ago'}"
