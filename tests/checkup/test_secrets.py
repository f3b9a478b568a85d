from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crewflow.checkup import secrets

BODY = "Zq3nX8vB1mK7tR5wY2pL9sD4fG6hJ0cAeUiOxNzQbVtMyWrPkTgHjSdFlCaEu"

# Put together here, so that this file holds none.
SAMPLES = {
    "AWS access key id": "AKIA" + "Q3NX5VB2MK7TR4WY",
    "GitHub token": "ghp_" + BODY[:36],
    "GitLab token": "glpat-" + BODY[:20],
    "Slack token": "xoxb-" + "123456789012-" + BODY[:24],
    "Slack webhook": "hooks.slack.com/services/" + "T0A1B2C3D/B0A1B2C3D/" + BODY[:24],
    "Google API key": "AIza" + BODY[:35],
    "Stripe key": "sk_live_" + BODY[:24],
    "OpenAI key": "sk-proj-" + BODY[:30] + "T3BlbkFJ" + BODY[:30],
    "Anthropic key": "sk-ant-api03-" + (BODY * 2)[:93],
    "npm token": "npm_" + BODY[:36],
    "PyPI token": "pypi-AgEI" + "cHlwaS5vcmc" + (BODY * 2)[:80],
    "SendGrid key": "SG." + BODY[:22] + "." + BODY[:43],
}
KEY_HEADER = "-----BEGIN RSA " + "PRIVATE KEY-----"


@pytest.mark.parametrize(("name", "sample"), SAMPLES.items())
def test_every_shape_is_found_with_its_line_and_without_its_body(name, sample):
    [(line, description)] = secrets.find(b"a", f"first\nkey = '{sample}'\n".encode())
    assert line == 2
    assert description.startswith(f"{name} {sample[:4]}****")
    assert sample[4:14] not in description


def test_every_shape_has_a_sample():
    assert {shape.name for shape in secrets.SHAPES} == set(SAMPLES) | {"private key"}


def test_a_fine_grained_github_token_is_found():
    sample = "github_pat_" + BODY[:22] + "_" + (BODY * 2)[:59]
    assert len(list(secrets.find(b"a", sample.encode()))) == 1


@pytest.mark.parametrize(
    "content",
    [
        f"{KEY_HEADER}\n{BODY}\n",
        f"{KEY_HEADER}\r\n{BODY}\r\n",
        f"{KEY_HEADER}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{BODY}\n",
        f"key: |\n    {KEY_HEADER}\n    {BODY}\n",
        f'{{"key": "{KEY_HEADER}\\n{BODY}\\n"}}',
    ],
)
def test_a_private_key_is_found_in_files_and_in_strings(content):
    [(_, description)] = secrets.find(b"a", content.encode())
    assert description.startswith("private key ----****")


@pytest.mark.parametrize(
    "content",
    [
        f'if line.startswith("{KEY_HEADER}"):\n    keep(line)\n',
        "-----BEGIN " + "PUBLIC KEY-----\n" + BODY,
        "AKIA" + "IOSFODNN7EXAMPLE",
        "ghp_" + "x" * 36,
        "xghp_" + BODY[:36],
        "npm_config_registry npm_lifecycle_event",
        "sk-proj-your-key-here",
        "password = 'hunter2'",
    ],
)
def test_headers_placeholders_and_prose_are_no_secrets(content):
    assert list(secrets.find(b"a", content.encode())) == []


def test_secrets_come_in_order_of_place_whatever_their_kind():
    content = f"{SAMPLES['npm token']}\n\n{SAMPLES['GitHub token']}\n{SAMPLES['npm token']}\n"
    assert [line for line, _ in secrets.find(b"a", content.encode())] == [1, 3, 4]


@pytest.mark.parametrize("sample", SAMPLES.values())
def test_masking_keeps_the_text_around_a_secret(sample):
    masked = secrets.mask(f"before {sample} after")
    assert masked.startswith(f"before {sample[:4]}****")
    assert masked.endswith(" after")
    assert sample not in masked


@given(st.text(), st.sampled_from(sorted(SAMPLES.values())), st.text())
def test_no_surroundings_let_a_whole_secret_through_that_would_be_found(before, sample, after):
    content = f"{before} {sample} {after}"
    assert sample not in secrets.mask(content)


def test_a_file_of_headers_takes_no_time():
    header = "Aa: b: c: d: " * 7
    content = (KEY_HEADER + "\n" + (header + "\n") * 79) * 50
    assert list(secrets.find(b"a", content.encode())) == []
