"""What an entry is about, what it replaces, and why: read out of its words."""

from __future__ import annotations

import re

from bethink.records import StatePart

__all__ = ["content_of", "key_of", "key_of_known", "left_in", "old_in", "reason_in"]

_ROLE = re.compile(r"\bas (?:the|our|its|my) (?P<role>[\w -]{3,40})$", re.IGNORECASE)
_REASON = re.compile(
    r",? (?:because(?: of)?|due to|owing to|on account of|so that|in order to|given that|the reason being(?: that)?"
    r"|as (?=(?:it|we|I|they|this|that|there|he|she|you|nobody|everyone|everybody|most)\b)"
    r"|since (?=(?:it|we|I|they|this|that|there|the|our|my|its|he|she|you|nobody|everyone|everybody|most|all)\b)"
    r") ?(?P<reason>.+)$",
    re.IGNORECASE,
)
_REASON_BELOW = re.compile(r",? (?:because|for (?:these|the following|two|three|several) reasons)\W*$", re.IGNORECASE)
_OLD = re.compile(
    r"\b(?:instead of|rather than|in place of|over (?=(?-i:[A-Z]))"
    # "Get feedback from users to plan better" replaces nothing.
    r"|(?:switch|mov|migrat|chang|upgrad|convert|port)(?:e|es|ing|ed|s)?\b[^,;]{0,40}? from (?=.+ to )) ?"
    r"(?P<old>.+?)(?= to \w|,|;| because| since| as |$)",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"\b(to|at|of|by|until|within|under|than) (?:[€$£] ?)?\d[\d.,:]*(?:%|(?:am|pm|k|m)\b)?", re.IGNORECASE)
_LEFT = re.compile(
    r"\b(?:changed (?:our|my) minds? (?:about|on)|forget(?: about)?|scrap|drop|dropping|moving away from) "
    r"(?P<old>[^,;:]{2,60})",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"(?:against|not to(?: use| go with)?|not go with|not use|no longer use) (?P<old>.+?)(?= for now\b|,|;|$)", re.IGNORECASE
)
_POINTS = re.compile(r"\b(?:it|this|that|these|those|them|ones?|things?|way)$", re.IGNORECASE)
_FOR = re.compile(r"\bfor (?:the |our |my |an? )?(?P<what>[\w' -]{2,60})$", re.IGNORECASE)
_SHORTEST_REASON = 4


def content_of(text: str) -> frozenset[str]:
    """The terms of a text that are no function words."""
    # Here and below because it brings the stemmer, for which who only makes a thread need not wait.
    from bethink.retrieval.terms import index_terms, stop_words

    return frozenset(index_terms(text).split()) - stop_words


def key_of(part: StatePart, text: str, ref: str = "") -> str:
    """What an entry is about, for `StateEntry.key`.

    Of decisions: the part that something is given ("use SQLite as the database"), else its words without its amounts, so that
    "a budget of 3,000" and "a budget of 3,500" are one decision revised ("fix bug 12" and "fix bug 13" are two). Of an
    artifact, where it is.
    """
    from bethink.retrieval.terms import index_terms, stop_words

    if part == "artifact":
        return ref
    if part in ("goal", "phase", "project"):
        return part
    role = _ROLE.search(text) if part == "decision" else None
    if role:
        return f"as:{' '.join(sorted(content_of(role['role'])))}"
    terms = index_terms(_AMOUNT.sub(r"\1", text) if part == "decision" else text).split()
    return " ".join(term for term in terms if term not in stop_words) or text.casefold()


def key_of_known(what: str, text: str) -> str:
    """The same of a fact that says what a deadline, a budget and the like are: of each thing that they are for there is one."""
    found = _FOR.search(text)
    of = " ".join(sorted(content_of(found["what"]))) if found else ""
    return f"about:{what.lower().strip()}{f' for {of}' if of else ''}"


def old_in(text: str) -> str:
    """The words of what a decision replaces: "use PostgreSQL instead of SQLite", "against SQLite". "" where it names none."""
    found = _AGAINST.match(text) or _OLD.search(text)
    old = found["old"].strip() if found else ""
    return "" if _POINTS.search(old) else old


def left_in(lead: str) -> str:
    """The same of what stands before a decision: "we changed our minds about SQLite: we will use PostgreSQL"."""
    found = _LEFT.search(lead)
    return found["old"].strip() if found else ""


def reason_in(text: str) -> tuple[str, str]:
    """A statement without its reason, and the reason; "" where none is given."""
    text = _REASON_BELOW.sub("", text)
    found = _REASON.search(text)
    if found is None or len(found["reason"]) < _SHORTEST_REASON or not text[: found.start()].strip():
        return text, ""
    return text[: found.start()], found["reason"]
