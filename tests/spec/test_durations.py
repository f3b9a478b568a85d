import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.spec.durations import DurationFault, parse_duration, show_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("10m", 600),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("500ms", 0.5),
        ("1.5s", 1.5),
        ("1d2h3m4s5ms", 93_784.005),
        ("0s", 0),
    ],
)
def test_a_duration_is_seconds(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "s", "10", "1m1h", "5 m", "5min", "-5s", "1s\n", "1h1h", "٣s", "1.s", ".5s"]
)
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(DurationFault):
        parse_duration(text)


@pytest.mark.parametrize("text", ["5", "0.5", "-5"])
def test_a_bare_number_is_told_so_and_what_to_write(text):
    with pytest.raises(DurationFault) as caught:
        parse_duration(text)

    assert "bare number" in caught.value.message
    assert f"`{text.lstrip('-')}s`" in caught.value.hint


def test_a_duration_of_more_than_ten_years_is_refused():
    assert parse_duration("3650d") == 315_360_000
    with pytest.raises(DurationFault, match="ten years"):
        parse_duration("999999999d")


@given(st.integers(0, 315_360_000 * 1000).map(lambda milliseconds: milliseconds / 1000))
def test_a_shown_duration_reads_back(seconds):
    assert parse_duration(show_duration(seconds)) == pytest.approx(seconds, abs=1e-6)
