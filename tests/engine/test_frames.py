"""Frames come through in whatever pieces the socket gives, and nothing else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trials import Maker

from crewflow.engine import frames
from crewflow.engine.executor import Ended
from crewflow.run.states import Outcome
from crewflow.spec.model import Output

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
messages = st.lists(st.dictionaries(st.text(max_size=8), values, max_size=3), max_size=5)


@given(messages, st.lists(st.integers(1, 40), max_size=60))
def test_frames_come_through_whatever_the_pieces(sent, cuts):
    data = b"".join(frames.pack(frame) for frame in sent)
    decoder = frames.Decoder()
    found = []
    for cut in [*cuts, len(data)]:
        found += decoder.feed(data[:cut])
        data = data[cut:]
    assert found == sent
    assert not decoder.halfway


@given(st.binary(max_size=200))
def test_any_bytes_are_frames_or_refused_or_not_yet_whole(data):
    decoder = frames.Decoder()
    try:
        found = decoder.feed(data)
    except frames.FrameError:
        return
    assert all(isinstance(frame, dict) for frame in found)


@pytest.mark.parametrize(
    "data",
    [
        b"\x11\xe1\xa3\x00",  # 300 MB
        b"HTTP/1.1",
        b"\x00\x00\x10\x01",
        b"\x00\x00\x00\x00",
        b"\x00\x00\x00\x02[]",
        b"\x00\x00\x00\x01{",
        b"\x00\x00\x00\x02\xff\xfe",
    ],
)
def test_what_is_no_frame_is_refused_at_once(data):
    with pytest.raises(frames.FrameError):
        frames.Decoder().feed(data)


def test_a_message_that_is_too_large_is_no_frame():
    frame = {"a": "x" * (frames.LIMIT - 8)}
    assert frames.Decoder().feed(frames.pack(frame)) == [frame]
    with pytest.raises(frames.FrameError):
        frames.pack({"a": "x" * (frames.LIMIT - 7)})


def test_a_frame_that_has_begun_is_known_to_have():
    decoder = frames.Decoder()
    assert decoder.feed(frames.pack({"a": 1})[:-1]) == []
    assert decoder.halfway


def test_attempts_and_ends_survive_the_way(tmp_path):
    make = Maker(tmp_path)
    outputs = (Output("a", "string", "json:/x", True, {"b": [1]}), Output("c", "integer"))
    for attempt in (
        make.script("echo", outputs=outputs, artifacts={"x": ("a", "b/*")}, env={"A": "ä\n"}, timeout=1.5),
        make.command("a", "b c", keeps_stdout=True),
        make.python("m:f", arguments={"k": [None, 1.5, "x"]}),
    ):
        (frame,) = frames.Decoder().feed(frames.pack({"run": frames.attempt_to_json(attempt)}))
        assert frames.attempt_from_json(frame["run"]) == attempt
        ended = Ended(
            attempt.task,
            attempt.number,
            Outcome.FAILED,
            "exit",
            exit_code=3,
            error="exit code 3",
            outputs={"a": [1]},
            result={"b": None},
            artifacts=({"id": "x", "path": "a", "sha256": "0", "size": 1},),
            output_bytes=7,
            seconds=0.5,
            survivors=(1, 2),
        )
        (frame,) = frames.Decoder().feed(frames.pack({"ended": frames.ended_to_json(ended)}))
        assert frames.ended_from_json(attempt, frame["ended"]) == ended


@pytest.mark.parametrize("fields", [None, 3, [], [1, 2], ["no such"] + [None] * 10, {"a": 1}])
def test_what_is_no_end_is_refused(tmp_path, fields):
    with pytest.raises(frames.FrameError):
        frames.ended_from_json(Maker(tmp_path).command("true"), fields)
