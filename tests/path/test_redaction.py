"""What is taken for a secret or personal data, and what is not."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink.errors import InvalidInput
from bethink.messages import Message, Part, Raw, ToolCall
from bethink.redaction import KINDS, Redaction, counts
from bethink.redaction.finders import is_iban, is_luhn

ALL = Redaction()

JWT = ".".join(
    base64.urlsafe_b64encode(part).decode().rstrip("=")
    for part in (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"1234"}', b"signature")
)
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx\nq7Jd+/=\n-----END RSA PRIVATE KEY-----"
SSH = PEM.replace("RSA", "OPENSSH")

# Shapes are put together here so that nothing in this file looks like a key to whoever scans it.
TAIL = "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
KEYS = {
    "OpenAI": "sk-" + "proj-" + TAIL,
    "Anthropic": "sk-" + "ant-api03-" + TAIL,
    "AWS": "AKIA" + "J4QZ7XK2MN5PLW3T",
    "GitHub": "ghp" + "_" + TAIL,
    "GitHub, fine-grained": "github" + "_pat_" + TAIL + TAIL,
    "GitLab": "glpat" + "-" + TAIL[:20],
    "Slack": "xoxb" + "-123456789012-" + TAIL[:24],
    "Google": "AIza" + TAIL[:35],
    "Stripe": "sk" + "_live_" + TAIL[:24],
    "SendGrid": "SG." + TAIL[:22] + "." + TAIL,
    "npm": "npm" + "_" + TAIL,
    "Hugging Face": "hf" + "_" + TAIL[:34],
    "Telegram": "123456789:AA" + TAIL[:33],
}

FOUND = [
    *[("api_key", f"the {vendor} key: {key}", key) for vendor, key in KEYS.items()],
    ("jwt", f"Authorization: Bearer {JWT}", JWT),
    ("private_key", f"here it is:\n{PEM}\nkeep it", PEM),
    ("private_key", f"{SSH}", SSH),
    ("url_password", "postgresql://app:S3cret!@db.example.com:5432/x", "S3cret!"),
    ("password", "my password is hunter2", "hunter2"),
    ("password", "The password for the staging box is Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("password", 'Password: "Sommer2024"', "Sommer2024"),
    ("password", "DB_PASSWORD=s3cr3t-pw-9", "s3cr3t-pw-9"),
    ("password", "set the API token to 5f4dcc3b5aa765d61d8327deb882cf99", "5f4dcc3b5aa765d61d8327deb882cf99"),
    ("password", "wifi passphrase -> Blue_Sky9!", "Blue_Sky9!"),
    ("iban", "DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130 00"),
    ("iban", "pay to GB82WEST12345698765432, please", "GB82WEST12345698765432"),
    ("iban", "be68-5390-0754-7034", "be68-5390-0754-7034"),
    ("card", "card 4111 1111 1111 1111, 12/27", "4111 1111 1111 1111"),
    ("card", "5500-0000-0000-0004", "5500-0000-0000-0004"),
    ("card", "Amex 340000000000009.", "340000000000009"),
    ("ssn", "SSN 536-22-1234", "536-22-1234"),
    ("ssn", "social security number: 536221234", "536221234"),
    ("email", "Write to ana.quispe+x@mail.example.co.uk.", "ana.quispe+x@mail.example.co.uk"),
    ("email", "<mailto:ana@example.org>", "ana@example.org"),
    ("phone", "call +32 470 12 34 56", "+32 470 12 34 56"),
    ("phone", "(212) 555-0143", "(212) 555-0143"),
    ("phone", "212-555-0143", "212-555-0143"),
    ("phone", "+1 (212) 555 0143", "+1 (212) 555 0143"),
]

LOOK_ALIKES = [
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "a risk-based approach, task-force, desk-research-and-development",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "token 123e4567-e89b-12d3-a456-426614174000",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "I forgot my password yesterday and had to reset it",
    "password: required, at least 8 characters",
    "The secret to a good sauce is patience",
    "the token budget is 4,096 tokens",
    "max_tokens=4096, next_page_token and so on",
    "password = request.form['password']",
    "user.password_hash == hash_password(password, method='pbkdf2:sha256')",
    "token = get_token(user_id)",
    "4111 1111 1111 1112",
    "order 4539 1488 0343 6468 2",
    "1700000000000000",
    "0000 0000 0000 0000",
    "DE89 3704 0044 0532 0130 01",
    "XX89 3704 0044 0532 0130 00",
    "SE35 is a road",
    "ssn of 000-12-3456 or 666-12-3456 or 900-12-3456",
    "2024-11-30 and 12.05.2023, at 10:30",
    "192.168.100.200, version 1.2.3.4",
    "pages 123-456-7890 to 200",
    "a score of 100-200-3000",
    "@ana, see you at 5",
    "https://user@example.org/path",
    "image.png@2x",
    "$1,234,567.89 of 12 345 678",
    "eyJhbGciOi.is.not one",
]


@pytest.mark.parametrize(("kind", "text", "secret"), FOUND)
def test_it_is_found_and_only_it_is_replaced(kind: str, text: str, secret: str) -> None:
    assert ALL.text(text) == text.replace(secret, f"[redacted:{kind}]")


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_V103_what_only_looks_like_one_is_left_alone(text: str) -> None:
    assert ALL.text(text) == text


@pytest.mark.parametrize(("kind", "text", "secret"), FOUND)
def test_a_kind_that_is_off_is_not_looked_for(kind: str, text: str, secret: str) -> None:
    assert f"[redacted:{kind}]" not in Redaction(kinds=tuple(each for each in KINDS if each != kind)).text(text)


@pytest.mark.parametrize(("kind", "text", "secret"), FOUND)
def test_a_kind_alone_finds_its_own(kind: Any, text: str, secret: str) -> None:
    assert secret not in Redaction(kinds=(kind,)).text(text)


@pytest.mark.parametrize(("digits", "right"), [("4111111111111111", True), ("4111111111111112", False), ("79927398713", True)])
def test_the_check_digit_of_a_card(digits: str, right: bool) -> None:
    assert is_luhn(digits) is right


@given(st.text("0123456789", min_size=1, max_size=18))
def test_exactly_one_digit_completes_a_card_number(digits: str) -> None:
    assert sum(is_luhn(digits + last) for last in "0123456789") == 1


def test_an_iban_with_any_one_digit_changed_is_none() -> None:
    number = "DE89370400440532013000"
    assert is_iban(number)
    changed = [number[:at] + digit + number[at + 1 :] for at in range(2, len(number)) for digit in "0123456789"]
    assert not any(is_iban(other) for other in changed if other != number)


# -- any value ------------------------------------------------------------------------------------------------------------


pieces = st.sampled_from(
    [*(text for _, text, _ in FOUND), *LOOK_ALIKES, " ", "\n", ", ", "password: ", "@", "4", "[redacted:email]", "[", "]", "x9"]
)


@given(st.lists(st.one_of(pieces, st.text(max_size=8)), max_size=6).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = ALL.text(text)
    assert ALL.text(once) == once


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), pieces),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(pieces, inner, max_size=3)),
    max_leaves=8,
)


@given(json_values)
def test_json_stays_json_of_the_same_shape(value: Any) -> None:
    redacted = ALL.json(value)
    assert _shape(redacted) == _shape(value)
    assert ALL.json(redacted) == redacted


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [_shape(item) for item in value.values()]
    if isinstance(value, list):
        return [[_shape(item)] for item in value]
    return "value"


def test_the_value_under_a_key_that_names_a_secret_goes_whatever_it_looks_like() -> None:
    given = {
        "password": "swordfish",
        "dbPassword": "x",
        "client_secret": "y",
        "user": "ana",
        "next_page_token": "abc",
        "tokens": 5,
    }
    assert ALL.json(given) == {
        "password": "[redacted:password]",
        "dbPassword": "[redacted:password]",
        "client_secret": "[redacted:password]",
        "user": "ana",
        "next_page_token": "abc",
        "tokens": 5,
    }


def test_a_number_that_is_a_card_number_goes_and_a_time_stays() -> None:
    given = {"card": 4111111111111111, "at": 1700000000000000, "n": 5, "ok": True}
    assert ALL.json(given) == {"card": "[redacted:card]", "at": 1700000000000000, "n": 5, "ok": True}


def test_keys_that_are_redacted_alike_both_keep_their_values() -> None:
    assert ALL.json({"a@example.org": 1, "b@example.org": 2}) == {"[redacted:email]": 1, "[redacted:email] 2": 2}


def test_a_message_is_redacted_in_every_part() -> None:
    address = "ana@example.org"
    message = Message(
        role="assistant",
        content=(Part("text", f"to {address}"), Part("file", address, f"https://u:pw12@host/{address}")),
        tool_calls=(ToolCall("c1", "send", json.dumps({"to": address, "nested": json.dumps({"password": "x"})})),),
        name=address,
        metadata={"of": {"deep": [address]}},
        raw=Raw("openai", json.dumps({"any": [address]}).encode()),
    )
    redacted = ALL.message(message)
    assert address not in msgspec.json.encode(redacted).decode()
    assert address.encode() not in (redacted.raw.json if redacted.raw else b"")
    assert json.loads(json.loads(redacted.tool_calls[0].arguments)["nested"]) == {"password": "[redacted:password]"}
    assert redacted.tool_calls[0].id == "c1"


def test_what_holds_nothing_is_given_back_as_it_is() -> None:
    message = Message(role="user", content="hello", metadata={"a": [1]}, raw=Raw("openai", b'{"a" : 1}'))
    assert ALL.message(message) is message


def test_arguments_that_change_nothing_keep_their_spelling() -> None:
    assert ALL.maybe_json('{ "a" : 1.0 }') == '{ "a" : 1.0 }'


def test_a_file_within_a_message_is_left_alone() -> None:
    url = "data:image/png;base64," + base64.b64encode(bytes(range(256)) * 40).decode()
    assert ALL.maybe_json(url) == url


def test_counts_says_how_many_of_each_kind_there_are_more() -> None:
    before = "a@example.org and b@example.org, [redacted:card]"
    assert counts(before, ALL.text(before)) == {"email": 2}


# -- patterns of one's own ------------------------------------------------------------------------------------------------


def test_a_pattern_of_ones_own_is_a_kind_like_any_other() -> None:
    own = Redaction(kinds=(), patterns={"customer": "KD-[0-9]{4}", "seat": "seat (?P<secret>[0-9]+[A-F])"})
    assert own.text("KD-1234 in seat 12C, a@example.org") == "[redacted:customer] in seat [redacted:seat], a@example.org"


def test_a_pattern_never_takes_a_placeholder_apart() -> None:
    own = Redaction(patterns={"word": "redacted|email"})
    assert own.text("a@example.org is redacted") == "[redacted:email] is [redacted:word]"


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"kinds": ("mail",)}, "kinds"),
        ({"patterns": {"Upper Case": "x"}}, "patterns"),
        ({"patterns": {"x": "("}}, "patterns['x']"),
        ({"patterns": {"x": "a*"}}, "patterns['x']"),
    ],
)
def test_what_cannot_be_looked_for_is_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(field)):
        Redaction(**options)
