"""Signed receipts of a forget: what they prove, to whom, and what they do not tell."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bethink import Memory
from bethink.attestations import Attestation, attest, check_attestation
from bethink.errors import InvalidInput
from bethink.storage.base import ForgetReceipt
from bethink.testing.doubles import FrozenClock

KEY = bytes(range(32))
WORDS = "My sister Zephyrine lives in Quimper."


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(clock=FrozenClock(), embedder=None) as memory:
        yield memory


@pytest.fixture
def receipt(memory: Memory) -> ForgetReceipt:
    told = memory.user("mara").thread("t").add("user", WORDS)
    return memory.user("mara").forget(message=told.id)


def test_it_is_what_was_signed(memory: Memory, receipt: ForgetReceipt) -> None:
    made = attest(receipt, KEY, verification=memory.verify(WORDS))
    assert check_attestation(made.to_json(), KEY) == made
    assert made.clean
    assert (made.receipt, made.at, made.hits) == (receipt.id, receipt.at, 0)


def test_who_knows_a_name_can_ask_for_it(receipt: ForgetReceipt) -> None:
    made = attest(receipt, KEY)
    assert made.names("message", *receipt.message_ids)
    assert made.names("namespace", "default", "mara")
    assert not made.names("namespace", "default", "mar")
    assert not made.names("record", *receipt.message_ids)


def test_no_word_and_no_name_is_in_it(receipt: ForgetReceipt) -> None:
    said = attest(receipt, KEY).to_json()
    assert not any(name in said for name in ("mara", "Zephyrine", "Quimper", *receipt.message_ids))


def test_two_receipts_of_one_user_cannot_be_told_to_be_of_one(memory: Memory) -> None:
    scopes = set()
    for _ in range(2):
        told = memory.user("mara").thread("t").add("user", "hello")
        scopes.add(attest(memory.user("mara").forget(message=told.id), KEY).scope)
    assert len(scopes) == 2


def test_without_a_look_at_the_files_it_does_not_claim_one(receipt: ForgetReceipt) -> None:
    made = attest(receipt, KEY)
    assert (made.pieces, made.hits, made.clean) == (None, None, False)


@given(at=st.integers(0, 10_000), mark=st.sampled_from("0123456789abcdef"))
def test_any_change_shows(at: int, mark: str) -> None:
    said = _SAID
    changed = said[: at % len(said)] + mark + said[at % len(said) + 1 :]
    if changed == said:
        return
    with pytest.raises(InvalidInput):
        check_attestation(changed, KEY)


def _attested() -> str:
    with Memory(clock=FrozenClock(), embedder=None) as memory:
        told = memory.thread("t").add("user", "hello")
        return attest(memory.forget(message=told.id), KEY).to_json()


_SAID = _attested()


def test_another_key_does_not_do(receipt: ForgetReceipt) -> None:
    with pytest.raises(InvalidInput, match="signed by this key"):
        check_attestation(attest(receipt, KEY).to_json(), KEY[::-1])


def test_a_key_that_could_be_guessed_is_refused(receipt: ForgetReceipt) -> None:
    with pytest.raises(InvalidInput, match="15 bytes"):
        attest(receipt, KEY[:15])


@pytest.mark.parametrize("given", ["", "{}", "[1]", '{"receipt":1}', b"\xff"])
def test_what_is_no_attestation_is_refused(given: str | bytes) -> None:
    with pytest.raises(InvalidInput, match="attestation"):
        check_attestation(given, KEY)


class TestEd25519:
    @pytest.fixture
    def keys(self) -> tuple[bytes, bytes]:
        ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519", reason='needs the extra "sign"')
        from cryptography.hazmat.primitives import serialization as form

        private = ed25519.Ed25519PrivateKey.generate()
        secret = private.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
        return secret, private.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)

    def test_who_has_the_public_key_can_check_it(self, receipt: ForgetReceipt, keys: tuple[bytes, bytes]) -> None:
        secret, public = keys
        made = attest(receipt, secret)
        assert check_attestation(made.to_json(), public) == made

    def test_and_sees_that_it_was_changed(self, receipt: ForgetReceipt, keys: tuple[bytes, bytes]) -> None:
        secret, public = keys
        forged = msgspec.structs.replace(attest(receipt, secret), erased=False)
        with pytest.raises(InvalidInput, match="signed by this key"):
            check_attestation(forged.to_json(), public)

    def test_an_hmac_does_not_pass_for_a_signature(self, receipt: ForgetReceipt, keys: tuple[bytes, bytes]) -> None:
        with pytest.raises(InvalidInput, match="hmac-sha256"):
            check_attestation(attest(receipt, KEY).to_json(), keys[1])

    @pytest.mark.parametrize("what", [b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
    def test_a_key_of_another_sort_is_refused(self, receipt: ForgetReceipt, keys: tuple[bytes, bytes], what: bytes) -> None:
        for wrong in (what, keys[1]):
            with pytest.raises(InvalidInput, match="Ed25519 private key"):
                attest(receipt, wrong)


def test_it_is_a_value() -> None:
    assert Attestation.__struct_config__.frozen
