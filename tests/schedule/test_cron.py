import pytest

from crewflow.schedule.cron import SHORT_FORMS, cron_fault


@pytest.mark.parametrize(
    "text",
    [
        "0 2 * * 1-5",
        "*/7 * * * *",
        "0 9 29 2 *",
        "0 0 13 * 5",
        "0 0 * JAN,MAR mon",
        "  0 0 1 1 *  ",
        *SHORT_FORMS,
    ],
)
def test_five_fields_and_short_forms_are_cron(text):
    assert cron_fault(text) is None


@pytest.mark.case("C145")
@pytest.mark.parametrize(
    ("text", "count"), [("*/10 * * * * *", 6), ("0 0 1 1 * 0 2030", 7), ("0 2 * *", 4), ("daily", 1)]
)
def test_anything_but_five_fields_is_refused(text, count):
    said, hint = cron_fault(text)

    assert said.startswith(f"has {count} field")
    assert hint.startswith("write five fields")


@pytest.mark.case("C146")
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("@dailyy", "did you mean `@daily`?"),
        ("@reboot", "start the workflow where `crewflow schedule start` is started"),
        ("@every 5m", "write `every: 5m`"),
    ],
)
def test_other_short_forms_say_what_to_write(text, hint):
    assert cron_fault(text)[1] == hint


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("60 0 * * *", "60"),
        ("0 24 * * *", "24"),
        ("0 0 32 * *", "32"),
        ("0 0 * 13 *", "13"),
        ("0 0 * * fry", "fry"),
        ("a b c d e", "a"),
    ],
)
def test_a_field_that_is_out_of_its_range_is_named(text, field):
    assert cron_fault(text)[0] == f"has a field that is not allowed: `{field}`"


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6 *"])
def test_a_day_that_no_year_has_is_refused(text):
    assert cron_fault(text)[0] == "names a day that no year has"
