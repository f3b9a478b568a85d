from __future__ import annotations

import json
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.state.records import OWN_MEMBERS, decode_records, encode_record, synced_behind

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
facts = st.dictionaries(st.text().filter(lambda name: name not in OWN_MEMBERS), values, max_size=4)


def lines_of(all_facts, *, synced=0, chain=0, seq=0):
    lines = []
    for found in all_facts:
        seq += 1
        line, chain = encode_record(seq, 1796077536.5, seq / 8, "fact", found, synced=synced, chain=chain)
        lines.append(line)
    return lines


def test_a_record_is_one_line_of_json_with_its_chain_last():
    line, chain = encode_record(
        7, 1796077536.1234567, 1.25, "attempt.ended", {"task": "a"}, synced=5, chain=9
    )
    body = b'{"seq":7,"ts":1796077536.123457,"mono":1.250000,"type":"attempt.ended","task":"a","synced":5'
    assert chain == crc32(body, 9)
    assert line == body + b',"chain":"%08x"}\n' % chain


@given(st.lists(facts, max_size=6))
def test_what_is_encoded_is_decoded(all_facts):
    lines = lines_of(all_facts)
    decoded = decode_records(b"".join(lines), chain=0, seq=0)
    own = [
        {name: value for name, value in record.items() if name in OWN_MEMBERS} for record in decoded.records
    ]
    rest = [
        {name: value for name, value in record.items() if name not in OWN_MEMBERS}
        for record in decoded.records
    ]
    assert rest == all_facts
    assert [record["seq"] for record in own] == list(range(1, len(all_facts) + 1))
    assert (decoded.seq, decoded.end) == (len(lines), sum(map(len, lines)))
    assert all(line.isascii() and line.count(b"\n") == 1 for line in lines)
    assert all(json.loads(line)["chain"] == record["chain"] for line, record in zip(lines, own, strict=True))


@given(st.lists(facts, min_size=2, max_size=5), st.data())
def test_any_other_byte_breaks_the_chain_at_its_record(all_facts, data):
    lines = lines_of(all_facts)
    whole = bytearray(b"".join(lines))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    before = 0
    while sum(map(len, lines[: before + 1])) <= at:
        before += 1
    decoded = decode_records(bytes(whole), chain=0, seq=0)
    assert len(decoded.records) == before
    assert decoded.end == sum(map(len, lines[:before]))


@given(st.lists(facts, min_size=3, max_size=5), st.data())
def test_a_record_that_is_missing_doubled_or_moved_breaks_the_chain(all_facts, data):
    lines = lines_of(all_facts)
    at = data.draw(st.integers(0, len(lines) - 2))
    wrong = {
        "missing": lines[:at] + lines[at + 1 :],
        "doubled": lines[: at + 1] + lines[at:],
        "moved": [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]],
    }
    decoded = decode_records(b"".join(wrong[data.draw(st.sampled_from(sorted(wrong)))]), chain=0, seq=0)
    assert at <= len(decoded.records) <= at + 1


def test_a_record_that_chains_and_is_out_of_order_is_not_taken():
    first, chain = encode_record(1, 0.0, 0.0, "fact", {}, synced=0, chain=0)
    second, _ = encode_record(3, 0.0, 0.0, "fact", {}, synced=0, chain=chain)
    assert decode_records(first + second, chain=0, seq=0).seq == 1


def test_facts_may_not_be_named_like_members_of_the_record():
    with pytest.raises(ValueError, match="chain"):
        encode_record(1, 0.0, 0.0, "fact", {"chain": "x"}, synced=0, chain=0)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_json_is_refused(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode_record(1, 0.0, 0.0, "fact", {"value": value}, synced=0, chain=0)


def test_undecodable_bytes_of_a_file_name_come_back():
    (line,) = lines_of([{"path": "a\udcff"}])
    assert decode_records(line, chain=0, seq=0).records[0]["path"] == "a\udcff"


def test_marks_behind_damage_are_found_at_the_ends_of_lines_only():
    lines = lines_of([{"n": n, "text": ',"synced":9,"chain":"00000000"}\n'} for n in range(4)], synced=3)
    assert synced_behind(b"".join(lines)) == 3
    assert synced_behind(b"garbage" + lines[3]) == 3
    assert synced_behind(lines[3][:-1]) == 0
    assert synced_behind(b"\0" * 4096) == synced_behind(b"") == 0
    (nested,) = lines_of([{"x": {"synced": 9, "chain": "00000000"}}])
    assert synced_behind(nested) == 0
