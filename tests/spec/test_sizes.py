import pytest

from crewflow.spec.sizes import parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("7B", 7),
        ("100KB", 100_000),
        ("10MB", 10_000_000),
        ("1.5KiB", 1536),
        ("1GiB", 2**30),
        ("2TB", 2 * 10**12),
    ],
)
def test_a_size_is_a_number_of_bytes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "10", "10 MB", "10mb", "MB", "1iB", "-1MB", "1MB\n"])
def test_a_text_that_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="no size"):
        parse_size(text)
