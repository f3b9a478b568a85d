import os
import select
import signal

import pytest

from crewflow.engine.interrupts import EXIT_CODES, Interrupts


def readable(interrupts):
    return bool(select.select([interrupts.wake_fd], [], [], 0)[0])


@pytest.mark.parametrize("name", EXIT_CODES)
def test_a_signal_is_noted_and_wakes(name):
    with Interrupts() as interrupts:
        assert not readable(interrupts)
        os.kill(os.getpid(), signal.Signals[name])
        assert readable(interrupts)
        assert interrupts.take() == [name]
        assert interrupts.first == name
        assert not readable(interrupts)
        assert interrupts.take() == []


def test_the_first_signal_is_remembered():
    with Interrupts() as interrupts:
        for name in ("SIGTERM", "SIGINT", "SIGINT"):
            os.kill(os.getpid(), signal.Signals[name])
        assert interrupts.take() == ["SIGTERM", "SIGINT", "SIGINT"]
        assert interrupts.first == "SIGTERM"


def test_afterwards_all_is_as_before():
    before = {name: signal.getsignal(signal.Signals[name]) for name in EXIT_CODES}
    with Interrupts():
        assert all(signal.getsignal(signal.Signals[name]) != before[name] for name in EXIT_CODES)

    assert {name: signal.getsignal(signal.Signals[name]) for name in EXIT_CODES} == before
    assert signal.set_wakeup_fd(-1) == -1


def test_a_signal_that_is_ignored_stays_ignored_as_nohup_asks():
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGHUP)
            assert interrupts.take() == []
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, former)
