"""What is looked for in a text: one `Finder` for each kind of secret and of personal data.

    text ─▶ hint: may it be there at all ─▶ pattern ─▶ check: digits that add up, an entropy, no sample ─▶ spans

A pattern alone takes order numbers for card numbers. So whatever has a checksum is checked by it, and what has neither checksum
nor a shape of its own (a password) counts only beside a word that announces it. Each finder errs towards leaving text alone.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bethink.redaction.kinds import Kind

__all__ = ["FINDERS", "Finder", "is_iban", "is_luhn", "names_secret"]


class Finder(NamedTuple):
    """How one kind is found.

    Attributes:
        hints: a text that holds it holds one of these strings, or what this pattern finds: a quick look, before the long one.
        find: the spans that are to be replaced, in order, without overlaps.
    """

    kind: Kind
    hints: tuple[str, ...] | re.Pattern[str]
    find: Callable[[str], Iterator[tuple[int, int]]]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it is in a text."""
        if isinstance(self.hints, tuple):
            there = any(map(text.__contains__, self.hints))
        else:
            there = self.hints.search(text) is not None
        return self.find(text) if there else iter(())


def _by(pattern: str, check: Callable[[re.Match[str]], bool] | None = None) -> Callable[[str], Iterator[tuple[int, int]]]:
    """Find what a pattern fits and a check lets pass: its group `secret`, where that took part, or else all of it."""
    compiled = re.compile(pattern)
    named = "secret" in compiled.groupindex

    def find(text: str) -> Iterator[tuple[int, int]]:
        for match in compiled.finditer(text):
            if check is None or check(match):
                yield match.span("secret" if named and match["secret"] is not None else 0)

    return find


# -- checks ---------------------------------------------------------------------------------------------------------------

_DIGITS = re.compile(r"[0-9](?:[^0-9]{0,3}[0-9]){6}")


def is_luhn(digits: str) -> bool:
    """Whether the last of some digits is the check digit of the others (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


_ISSUERS = (
    (re.compile("4"), (13, 16, 19)),  # Visa
    (re.compile("5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),  # Mastercard
    (re.compile("3[47]"), (15,)),  # American Express
    (re.compile("6011|64[4-9]|65"), (16, 19)),  # Discover
    (re.compile("352[89]|35[3-8]"), (16,)),  # JCB
    (re.compile("30[0-5]|36|38"), (14,)),  # Diners Club
    (re.compile("62"), (16, 17, 18, 19)),  # UnionPay
)


def _is_card(match: re.Match[str]) -> bool:
    digits = re.sub("[ -]", "", match[0])
    issued = any(prefix.match(digits) and len(digits) in lengths for prefix, lengths in _ISSUERS)
    return issued and len(set(digits)) > 1 and is_luhn(digits)


_IBAN_LENGTHS = {
    country: length
    for length, countries in (
        (15, "NO"),
        (16, "BE"),
        (18, "DK FO FI GL NL SD"),
        (19, "MK SI"),
        (20, "AT BA EE KZ LT LU MN XK"),
        (21, "CH HR LI LV"),
        (22, "BG BH CR DE GB GE IE ME RS VA"),
        (23, "AE GI IL IQ OM SO TL"),
        (24, "AD CZ ES MD PK RO SA SE SK TN VG"),
        (25, "LY PT ST"),
        (26, "IS TR"),
        (27, "BI DJ FR GR IT MC MR SM"),
        (28, "AL AZ BY CY DO GT HU LB NI PL SV"),
        (29, "BR EG PS QA UA"),
        (30, "JO KW MU"),
        (31, "MT SC"),
        (32, "LC"),
        (33, "RU"),
    )
    for country in countries.split()
}
"""Characters of an account number by country, from the IBAN registry (ISO 13616)."""


def is_iban(number: str) -> bool:
    """Whether it is an account number: of its country's length, and 1 modulo 97 with its first four characters moved to the end
    and letters as numbers from 10 (ISO 7064, MOD 97-10)."""
    compact = re.sub("[ -]", "", number).upper()
    if _IBAN_LENGTHS.get(compact[:2]) != len(compact) or not compact.isalnum() or not compact.isascii():
        return False
    return int("".join(str(int(mark, 36)) for mark in compact[4:] + compact[:4])) % 97 == 1


def _is_jwt(match: re.Match[str]) -> bool:
    head = match[0].split(".", 1)[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError):
        return False
    return isinstance(header, dict) and "alg" in header


def _is_key(match: re.Match[str]) -> bool:
    # Vendors' documentation marks its samples so; what is left has to look as if it were drawn at random.
    secret = match["secret"]
    return "EXAMPLE" not in secret and _entropy(secret) >= _LEAST_ENTROPY


_LEAST_ENTROPY = 2.5
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[A-Za-z_$]+([.\-/][A-Za-z_$]+)*|\$?\w+_\w+\.\w+")
"""Of programs and their settings: without digits, "request.form", "your_secret_key"."""
_ALGORITHM = re.compile(r"sha-?\d{1,3}\b|md5\b|pbkdf2|bcrypt\b|argon2|hs256|rs256|\boauth", re.IGNORECASE)


def _entropy(text: str) -> float:
    """Bits a character, of the characters as they are distributed (Shannon)."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


_SIGN = re.compile(r"[ \t\"'`*]*(?::=?|=>?|->|\u2192|\b(?:is|was|to|ist)\b)[ \t]*(?:now[ \t]+)?[\"'`*]{0,3}", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s\"'`,;<>(){}\[\]]{6,100}")
_NEAR = 60
"""Characters after the word that announces a password, within the same line."""


def _passwords(text: str) -> Iterator[tuple[int, int]]:
    """Beside "password": what follows a sign (":", "=", "is") and is no word, or else what nobody would write as one."""
    at = 0
    for announced in _ANNOUNCED.finditer(text):
        if "[redacted:" in text[max(0, announced.start() - 50) : announced.start()].rpartition("]")[2]:
            continue
        near = text[announced.end() : announced.end() + _NEAR].partition("\n")[0]
        for token in _TOKEN.finditer(text, announced.end(), announced.end() + len(near) + 1):
            between = text[announced.end() : token.start()]
            signs = list(_SIGN.finditer(between))
            secret = token[0].rstrip(".")
            # What a word and a sign lead to, or stands in one piece with them: "pwd=...".
            inner = _SIGN.match(secret)
            start = token.start()
            if inner is not None and not inner[0].strip().isalpha():
                secret, start = secret[inner.end() :], start + inner.end()
                signs.append(inner)
            signed = bool(signs) and (inner in signs or between[signs[-1].end() :].strip() == "")
            called = text[token.end() : token.end() + 1] in ("(", "[")
            if start >= at and not called and _is_password(secret, signed=signed):
                at = start + len(secret)
                yield start, at
                break
            if signed:
                break


def _is_password(token: str, *, signed: bool) -> bool:
    """Whether a token beside "password" is one: nothing that a sentence would say there."""
    token = token.rstrip("!?*")
    if _UUID.fullmatch(token) or _IDENTIFIER.fullmatch(token) or _ALGORITHM.search(token) or "://" in token:
        return False
    sorts = sum(
        (
            any(map(str.islower, token)),
            any(map(str.isupper, token)),
            any(map(str.isdigit, token)),
            any(not (mark.isalnum() or mark in "'\u2019-/.") for mark in token),
        )
    )
    if not signed:
        # "The password for Marta3": without a sign between them only what nobody would write as a word or a name.
        return len(token) >= 8 and any(map(str.isdigit, token)) and sorts >= 2 and _entropy(token) >= _LEAST_ENTROPY
    capitalised = token.isalpha() and token[1:].islower()
    return len(token) >= 6 and sorts >= 2 and not capitalised and _entropy(token) > 1


def _is_phone(match: re.Match[str]) -> bool:
    digits = re.sub("[^0-9]", "", match[0])
    if match[0].startswith("+"):
        return 8 <= len(digits) <= 15
    # 555-01xx is set aside for films; what is not a number of anybody's cannot be told from one that is, so it counts.
    return len(set(digits)) > 2


# -- finders --------------------------------------------------------------------------------------------------------------

_KEY_SHAPES = (
    r"sk-(?:proj-|ant-(?:[a-z]+\d+-)?|svcacct-|or-v1-)?[A-Za-z0-9_\-]{20,200}",  # OpenAI, Anthropic, OpenRouter
    r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}",  # AWS
    r"gh[pousr]_[A-Za-z0-9]{36,255}",  # GitHub
    r"github_pat_[A-Za-z0-9_]{60,255}",
    r"glpat-[A-Za-z0-9_\-]{20,60}",  # GitLab
    r"xox[abeoprs]-[A-Za-z0-9\-]{10,250}",  # Slack
    r"xapp-[0-9]-[A-Za-z0-9\-]{20,250}",
    r"AIza[A-Za-z0-9_\-]{35}",  # Google
    r"ya29\.[A-Za-z0-9_\-]{20,300}",
    r"GOCSPX-[A-Za-z0-9_\-]{28}",
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,250}",  # Stripe
    r"whsec_[A-Za-z0-9+/]{24,100}",
    r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{16,64}",  # SendGrid
    r"key-[0-9a-f]{32}",  # Mailgun
    r"SK[0-9a-f]{32}",  # Twilio
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-AgE[A-Za-z0-9_\-]{50,300}",
    r"hf_[A-Za-z0-9]{30,40}",  # Hugging Face
    r"(?:dop|doo|dor)_v1_[0-9a-f]{64}",  # DigitalOcean
    r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",  # Shopify
    r"[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}",  # Telegram
    r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
)
_KEY_HINTS = (
    *("sk-", "KIA", "ASIA", "ABIA", "ACCA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-"),
    *("AIza", "ya29.", "GOCSPX-", "_live_", "_test_", "whsec_", "SG.", "key-", "SK", "npm_", "pypi-AgE", "hf_", "_v1_", "shp"),
    *(":AA", "AGE-SECRET-KEY-1"),
)

_WORDS = (
    r"pass(?:word|wd|code|phrase)s?|pwd|passwort|kennwort|mot de passe|contraseña|secret|token|credentials?|pin code|"
    r"(?:api|access|secret|private|auth|client|account|encryption)[ _\-]?(?:key|token|secret)"
)
_ANNOUNCED = re.compile(rf"(?<![A-Za-z0-9])(?:{_WORDS})(?![A-Za-z0-9])", re.IGNORECASE)
_SECRET_KEY = re.compile(rf"(?:^|[_\-. ]|(?<=[a-z])(?=[A-Z]))(?:{_WORDS})$", re.IGNORECASE)
"""A key of a JSON object whose value is a secret, whatever it looks like: "password", "client_secret", "db.passwd"."""

_COUNTING_KEY = re.compile(r"(?:next|page|continuation|sync|cursor|max|prompt|completion|total)[ _\-]?tokens?$", re.IGNORECASE)


def names_secret(key: str) -> bool:
    """Whether a key of a JSON object announces a secret. A page token is none, nor is a number of tokens."""
    return bool(_SECRET_KEY.search(key)) and not _COUNTING_KEY.search(key)


FINDERS: tuple[Finder, ...] = (
    Finder(
        "private_key",
        ("-----BEGIN",),
        _by(
            r"-----BEGIN (?P<what>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
            # One whose end is missing goes as far as it looks like one.
            r"(?:(?:(?!-----BEGIN)[\s\S]){0,20000}?-----END (?P=what)-----|[A-Za-z0-9+/=\s\\]*)"
        ),
    ),
    Finder(
        "jwt",
        ("eyJ",),
        _by(r"(?<![\w\-.])eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{4,}\.[A-Za-z0-9_\-]*(?![\w\-])", _is_jwt),
    ),
    Finder(
        "api_key",
        _KEY_HINTS,
        _by(rf"(?<![A-Za-z0-9_\-])(?P<secret>{'|'.join(_KEY_SHAPES)})(?![A-Za-z0-9_])", _is_key),
    ),
    Finder(
        "url_password",
        ("://",),
        _by(r"\b[a-zA-Z][a-zA-Z0-9+.\-]{1,20}://[^\s/:@\[\]]{0,100}:(?P<secret>[^\s/@\[\]]{1,200})@(?=[\w\[])"),
    ),
    Finder("password", re.compile(r"(?i)pass|pwd|kennwort|contrase|token|secret|key|credential|pin code"), _passwords),
    Finder(
        "iban",
        re.compile(r"[A-Za-z]{2}[0-9]{2}"),
        _by(
            r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?:(?:[ -]?[A-Za-z0-9]{4}){2,7}(?:[ -]?[A-Za-z0-9]{1,3})?)(?![A-Za-z0-9])",
            lambda match: is_iban(match[0]),
        ),
    ),
    Finder("card", _DIGITS, _by(r"(?<![\w.+\-/])[0-9](?:[ -]?[0-9]){12,18}(?![\w/]|[.\-][0-9])", _is_card)),
    Finder(
        "ssn",
        _DIGITS,
        _by(
            r"(?<![\w.\-])(?!000|666|9)[0-9]{3}(?P<by>[ -])(?!00)[0-9]{2}(?P=by)(?!0000)[0-9]{4}(?![\w\-])"
            r"|(?i:\b(?:ssn|social security(?: number)?)\b)[^0-9\n]{0,12}(?P<secret>(?!000|666|9)[0-9]{9})(?![\w\-])"
        ),
    ),
    Finder(
        "email",
        ("@",),
        _by(
            r"(?<![\w.+\-%])(?<!//)[\w.+\-%]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9\-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,24}(?![\w\-]|\.\w)"
        ),
    ),
    Finder(
        "phone",
        _DIGITS,
        _by(
            r"(?<![\w+./\-])(?:\+[1-9][0-9]{0,2}(?:[ .\-/]?\(?[0-9]{1,5}\)?){2,6}"
            # The plan of North America: neither area nor exchange begins with 0 or 1.
            r"|(?:1[ .\-])?(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[ .\-])[2-9][0-9]{2}[ .\-][0-9]{4})(?![\w\-/]|[.][0-9])",
            _is_phone,
        ),
    ),
)
