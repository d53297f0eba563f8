"""A signed receipt of a forget, for somebody who has no access to the database: when, how much, of whom, if it was checked.

    ForgetReceipt, Verification ─▶ attest(key) ─▶ Attestation ─▶ JSON ─▶ whoever asked ─▶ check_attestation(key)

It holds no words and no names: ids and the namespace are there as digests, so that whoever knows one can ask whether it is
among them (`Attestation.names`), and nobody else can read it. Each receipt has digests of its own, so that two cannot be
compared.

A key of bytes makes an HMAC-SHA256: whoever is to check it must have the key, and could have made it. An Ed25519 private key,
in PEM, makes a signature that anybody can check with the public one (extra "sign").
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from bethink.errors import InvalidInput, MissingExtra
from bethink.storage.base import ForgetReceipt, Verification

__all__ = ["Attestation", "attest", "check_attestation", "check_key"]

Algorithm: TypeAlias = Literal["hmac-sha256", "ed25519"]

_PEM = b"-----BEGIN "
_SHORTEST = 16
"""Bytes of a secret key. A shorter one can be found by trying."""


class Attestation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was forgotten, in digests, and who says so.

    Attributes:
        receipt, at: id and time of the `ForgetReceipt`.
        scope: digest of the namespace; `subtree` whether all below it was meant.
        messages, records, threads: digests of the ids that went, sorted.
        counts: how many of each other thing went, by its name in the receipt.
        erased: whether the bytes were cleaned from the files.
        pieces, bytes, hits: what `verify` looked for afterwards, in how many bytes, and how many places it found; None where
            nobody looked.
        algorithm, signature: of all of the above, as JSON; hexadecimal.
    """

    receipt: str
    at: datetime
    scope: str
    subtree: bool
    messages: tuple[str, ...]
    records: tuple[str, ...]
    threads: tuple[str, ...]
    counts: dict[str, int]
    erased: bool
    pieces: int | None = None
    bytes: int | None = None
    hits: int | None = None
    version: Literal[1] = 1
    algorithm: Algorithm = "hmac-sha256"
    signature: str = ""

    @property
    def clean(self) -> bool:
        """Whether the files were cleaned, and looked through, and nothing was found."""
        return self.erased and self.hits == 0

    def names(self, kind: Literal["namespace", "message", "record", "thread"], *name: str) -> bool:
        """Whether this id, or this namespace, is what was forgotten."""
        digest = _digest(self.receipt, kind, *name)
        among = {"namespace": (self.scope,), "message": self.messages, "record": self.records, "thread": self.threads}
        return digest in among[kind]

    def to_json(self) -> str:
        """As it is given away. One line."""
        return msgspec.json.encode(self).decode()


def attest(receipt: ForgetReceipt, key: bytes, *, verification: Verification | None = None) -> Attestation:
    """Sign a receipt.

    Args:
        receipt: of `Memory.forget`.
        key: a secret of 16 bytes or more, or an Ed25519 private key in PEM (unencrypted, PKCS 8).
        verification: what `Memory.verify` found afterwards, to be part of it.

    Raises:
        InvalidInput: the key is too short, or no Ed25519 private key.
        MissingExtra: for Ed25519, without the extra "sign".
    """

    def digests(kind: str, ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(_digest(receipt.id, kind, each) for each in ids))

    unsigned = Attestation(
        receipt=receipt.id,
        at=receipt.at,
        scope=_digest(receipt.id, "namespace", *receipt.scope.namespace),
        subtree=receipt.scope.subtree,
        messages=digests("message", receipt.message_ids),
        records=digests("record", receipt.record_ids),
        threads=digests("thread", receipt.thread_ids),
        counts={
            "changed": len(receipt.changed),
            "revived": len(receipt.revived),
            "lines": receipt.lines,
            "units": receipt.units,
            "receipts": receipt.receipts,
            "checkpoints": receipt.checkpoints,
        },
        erased=receipt.erased,
        pieces=None if verification is None else verification.needles,
        bytes=None if verification is None else sum(size for _, size in verification.files),
        hits=None if verification is None else len(verification.hits),
        algorithm="ed25519" if key.startswith(_PEM) else "hmac-sha256",
    )
    said = _signed(unsigned)
    signature = _private(key).sign(said) if unsigned.algorithm == "ed25519" else _mac(key, said)
    return msgspec.structs.replace(unsigned, signature=signature.hex())


def check_key(key: bytes) -> None:
    """Raise, as `attest` would, unless something can be signed with this key: before anything is forgotten."""
    if key.startswith(_PEM):
        _private(key)
    else:
        _mac(key, b"")


def check_attestation(given: str | bytes, key: bytes) -> Attestation:
    """An attestation from its JSON, if it is what was signed.

    Args:
        key: the same secret, or the Ed25519 public key in PEM.

    Raises:
        InvalidInput: it is none, was changed, or was signed by another key.
        MissingExtra: for Ed25519, without the extra "sign".
    """
    try:
        found = msgspec.json.decode(given, type=Attestation)
        signature = bytes.fromhex(found.signature)
    except (msgspec.DecodeError, ValueError):
        raise InvalidInput("attestation", "not one", "give the JSON as it was written") from None
    of_key = "ed25519" if key.startswith(_PEM) else "hmac-sha256"
    if found.algorithm != of_key:
        raise InvalidInput("key", f"for {of_key}", f"it was signed by {found.algorithm}: give the key for that")
    said = _signed(found)
    if not (_verified(key, signature, said) if of_key == "ed25519" else hmac.compare_digest(signature, _mac(key, said))):
        raise InvalidInput("attestation", "not what was signed by this key", "ask for it again; it may have been changed")
    return found


def _digest(receipt: str, kind: str, *name: str) -> str:
    """Of a name within one receipt. No part may hold the separator: ids and segments never do."""
    return hashlib.sha256("\x1f".join((receipt, kind, *name)).encode()).hexdigest()


def _signed(attestation: Attestation) -> bytes:
    """What the signature is of: the fields in their order, without it."""
    return msgspec.json.encode(msgspec.structs.replace(attestation, signature=""))


def _mac(key: bytes, said: bytes) -> bytes:
    if len(key) < _SHORTEST:
        raise InvalidInput("key", f"{len(key)} bytes", f"use {_SHORTEST} or more, such as secrets.token_bytes(32)")
    return hmac.digest(key, said, "sha256")


# -- Ed25519 --------------------------------------------------------------------------------------------------------------


def _private(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError as error:
        raise MissingExtra("signing with Ed25519", "sign") from error
    try:
        found = load_pem_private_key(key, password=None)
    except (TypeError, ValueError):
        found = None
    if not isinstance(found, Ed25519PrivateKey):
        raise InvalidInput("key", "no Ed25519 private key", "make one: openssl genpkey -algorithm ed25519")
    return found


def _verified(key: bytes, signature: bytes, said: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError as error:
        raise MissingExtra("checking an Ed25519 signature", "sign") from error
    try:
        public = load_pem_public_key(key)
    except ValueError:
        public = None
    if not isinstance(public, Ed25519PublicKey):
        raise InvalidInput("key", "no Ed25519 public key", "give that of the signer: openssl pkey -in key.pem -pubout")
    try:
        public.verify(signature, said)
    except InvalidSignature:
        return False
    return True
