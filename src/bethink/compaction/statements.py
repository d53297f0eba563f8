"""Sentences as statements: what each is about, which facts it adds, and which of them a later one replaces.

Two sentences that say the same with other numbers are one statement that was revised, and the newest stands: "the budget is
500", "the budget is 700". Where the numbers are the content itself nothing is revised, and both stand: expressions,
rows, steps.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Sequence

import msgspec

from bethink.compaction.facts import Facts, facts
from bethink.records import Line
from bethink.retrieval.terms import QUESTION_MARKS, index_terms, stop_words

__all__ = [
    "Statement",
    "is_code",
    "is_commitment",
    "is_courtesy",
    "is_elliptic",
    "is_expression",
    "is_leaning",
    "statements",
    "without_repetition",
]

# Two topics are the same from this Jaccard similarity on.
_SAME = 0.65
_COMPARED = 64

# Words (stems) of revising, no part of what is revised: "make the budget 3500" is about what "the budget is 3000" is about.
_REVISION_STEMS = """
actual instead pleas ok okay note make set chang updat rais lower increas decreas reduc move adjust correct sorri wait think
want would like say mean rather new eur euro usd dollar gbp pound
"""
_REVISING = frozenset(_REVISION_STEMS.split())
# Those by which somebody takes back what the same message has said.
_CORRECTING = frozenset(("actual", "instead", "sorri", "correct", "rather", "wait", "chang", "updat"))

# Stems and phrases of decisions and commitments.
_COMMITTING_STEMS = """
decid decis must mustnt deadlin due promis commit plan switch chose chosen alway never rememb prefer allerg cancel book
confirm need instead longer
"""
_COMMITTING = frozenset(_COMMITTING_STEMS.split())
_COMMITTING_PHRASES = (
    "let's ",
    "agreed ",
    "i'll ",
    "we'll ",
    "i will ",
    "we will ",
    "going to ",
    "going with ",
    "have to ",
    "from now on",
)

_COURTESY = re.compile(
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|night|to)|thank(?:s| you)|thx|bye|goodbye|see (?:you|ya)|take care"
    r"|you'?re (?:welcome|right)|welcome|sure|of course|certainly|(?:i )?(?:absolutely|totally|completely|definitely)|agreed"
    r"|(?:i )?agree|exactly|yes|yep|yeah|yup|no problem|ok(?:ay)?|great|cool|wow|whoa|yay|awesome|amazing|nice|lovely"
    r"|congrat\w*|glad|(?:(?:that|it|this) )?(?:sounds?|looks?) (?:\w+ )?(?:good|great|fun|awesome|amazing|nice|cool|like a)"
    r"|happy to|i'?d be happy|let me know|i hope|hope|have a|keep (?:it )?up|that'?s (?:great|awesome|amazing|so|really)"
    r"|(?:by the way, )?(?:take a look|check (?:it|this) out)|(?:i'?m )?so (?:cool|glad|happy for|proud|sweet)"
    r"|keep going|got it"
    r"|your (?:kind )?(?:words|help|support)|(?:i )?(?:really )?appreciate|you(?:'?ve)? got (?:this|it|guts)|can'?t wait"
    r"|good luck|long time no see|let'?s do (?:it|this)|i'?ll (?:think about it|keep (?:it|that) in mind)|fine by me|perfect"
    r"|tell me when|well done|good(?=[.!]))(?!\w)",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"(?:so,? )?(?:how (?:can|may) i (?:help|assist)|what can i (?:do|help)|is there anything|anything else|can i help)\b",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"(?:(?:and|so|well|oh|haha|but|yeah|woah|wow|also)[,!]? |[A-Z][a-z]+[,!] )+(?=\w)")
_COURTESY_WORDS = 10

# A sentence that stands alone has a verb and names its subject. There is no tagger here: these are the words that give away
# the verb, and the openings that lean on what was said before.
_FEWEST_WORDS = 5
_VERB = re.compile(
    r"\b(?:am|is|are|was|were|be|been|has|have|had|do|does|did|will|would|can|could|shall|should|may|might|must|need|let|please"
    r"|i|we|they|you|he|she)\b|['’](?:m|s|re|ve|ll|d)\b|n['’]t\b|\w\w(?:ed|es)\b|\w\w[^\Ws]s\b",
    re.IGNORECASE,
)
_CUT_SHORT = re.compile(
    r"\b(?:do|does|did|is|are|was|were|will|would|can|has|have|had|am)(?: not|n['’]t)?(?=[,;.!]|$)", re.IGNORECASE
)
_ANSWERING = re.compile(
    r"(?:still|whether|because|with|by|for|to|from|in|on|at|about|just|only|not|nothing|none|both|neither|either"
    r"|then|yes|no|yep|nope|done|set|fine|true|decided|noted|properly|the same|two|three|four)\b",
    re.IGNORECASE,
)
_LEANING = re.compile(r"(?:it|he|she|they|that|this|these|those|both|his|her|their|its|then|which)\b", re.IGNORECASE)
# The expression for code looks at every place; this tells at little cost whether it is worth it.
_MAY_BE_CODE = re.compile(r"[(){}\[\]=;<>@]|^(?:\"|import |from )|:$")
_QUOTED = re.compile(r"`[^`]*`")
_CODE = re.compile(
    r"^(?:[\])}]|</?[a-z!][^>]*>|@\w+(?:\(|$)|\"[\w-]+\": )"
    r"|^(?:import [\w.]+|from [\w.]+ import .+)$"
    r"|^(?:def|class|return|elif|if|for|while|try|except|else|with|const|let|var|function|export|public|private|static|async|await"
    r"|raise|throw)\b.*[:;{(]$"
    r"|^(?:SELECT|INSERT INTO|CREATE|UPDATE|DELETE FROM|ALTER|DROP) [A-Z(*\w]+.*[;(]$"
    r"|[{(\[]$|[(){}=<>\[\]].*;$|\w\w\((?!s\))[^ )]*\)[;,:]?$|[\w\])\"'] ?[!=+-]?={1,3} ?[\w\"'\[({-]|=>"
)
# An expression has its numbers for content: code, or a formula with a relation or an operation between its operands.
_MAY_BE_FORMULA = re.compile(r"[=≈≠≤≥<>+×÷·^∗*\\√]")
_FORMULA = re.compile(
    r"\\(?:frac|sqrt|times|cdot|div|pm|sum|prod|int|binom|leq?|geq?|approx|left|begin)\b|√"
    r"|[\w)\]}%°²³!'|] ?(?:=|≈|≠|≤|≥|<=?|>=?) ?[-+±]?[\w(\[{\\|√$€£]"
    r"|[\w)\]}²³] ?[×÷·] ?[\w(\[{\\√]|[\w)\]}] [+*∗] [\w(\[{\\]|\d[+*∗]\d|[\w)\]}] ?\^ ?[\w({\\-]"
)
# "PORT=5000", "const limit = 5;", "latency < 200 ms": a name and one value, which says what the thing is, as a sentence does.
_SETTING = re.compile(
    r"[^\d=≈≠≤≥<>+×÷·^*\\√]*[^\W\d_]{2}[^\w=≈≠≤≥<>+×÷·^\\√:]*(?:=|≈|≤|≥|<=?|>=?|:)"
    r"[^\w=≈≠≤≥<>+×÷·^\\√]*\d[\d.,:%]*\s?[^\s\d=≈≠≤≥<>+×÷·^*\\√]{0,12}[\s*_]*$"
)
# A number that names what is spoken of stands in front, as the key of a row or with the word it belongs to.
_NAMED = re.compile(
    r"\W*(?:the |our |my )?(?:[^\W\d_]+ )?[#№]?(\d[\w.:/]*)(?: ?[ap]\.?m\b\.?)?[*_`\"')\]]*"
    r"(?:\s*[:|–—]|\s+-\s|\s+(?:is|are|was|were|has|have|had|will|can|should|must|does|did)\b)",
    re.IGNORECASE,
)


class Statement(msgspec.Struct, frozen=True):
    """A line with what is needed to weigh it.

    Attributes:
        position: orders statements as they were made.
        role: of the speaker.
        terms: its index terms without function words; `topic` is these without numbers and words of revising.
        facts: those in it, without the names of the speakers.
        question, courtesy, commitment: whether it asks, greets or agrees, decides or promises.
        elliptic, leaning: whether it is half a sentence; whether its subject is named elsewhere.
        code: whether it is a line of code rather than words.
        expression: whether it has numbers, and they are what it says (see `is_expression`).
        named: the number in front that names what it is about; "" where there is none.
    """

    line: Line
    position: int
    role: str
    terms: tuple[str, ...]
    topic: frozenset[str]
    facts: Facts
    question: bool
    courtesy: bool
    commitment: bool
    elliptic: bool
    leaning: bool
    code: bool
    expression: bool
    named: str


def statements(said: Sequence[tuple[Line, str]]) -> list[Statement]:
    """The statements among lines, each given with the role of its speaker, in order.

    Left out are lines without a content word, single words, and short courtesies without a fact or a commitment.
    """
    # Who speaks is written beside each line, so that somebody is addressed by name is no news.
    speakers = frozenset(word for line, _ in said for word in line.speaker.lower().split())
    of_lines = facts([line.text for line, _ in said], speakers)
    found = []
    for position, (line, role) in enumerate(said):
        words = index_terms(line.text).split()
        terms = tuple(word for word in words if word not in stop_words)
        addressed = _ADDRESSED.match(line.text)
        courtesy = bool(_COURTESY.match(line.text) or (addressed and _COURTESY.match(line.text, addressed.end())))
        # "Let's boogie!", "I'll think about it": a promise of one word promises nothing.
        commitment = _commits(line.text, words) and (len(terms) > 2 or bool(of_lines[position].all))
        if not terms or (not commitment and _is_empty(line.text, courtesy, terms, of_lines[position])):
            continue
        code = is_code(line.text)
        counted = bool(of_lines[position].numbers)
        named = _NAMED.match(line.text) if counted else None
        found.append(
            Statement(
                line=line,
                position=position,
                role=role,
                terms=terms,
                topic=frozenset(term for term in terms if term.isalpha() or not term[0].isdigit()) - _REVISING,
                # Every name in code is an identifier, there to be used and not to be told.
                facts=msgspec.structs.replace(of_lines[position], identifiers=()) if code else of_lines[position],
                question=line.text.rstrip("\"'”’)*_ ").endswith(QUESTION_MARKS),
                courtesy=courtesy,
                commitment=commitment,
                elliptic=is_elliptic(line.text),
                leaning=is_leaning(line.text),
                code=code,
                expression=counted and is_expression(line.text),
                named=named[1] if named else "",
            )
        )
    return found


def is_elliptic(text: str) -> bool:
    """Whether `text` is half a sentence, understood only after what it answers: "Still 30 September.", "Amal does, by 10 July."

    Text in scripts without spaces or case is taken to stand alone.
    """
    if not text.isascii() and not any(character.isascii() and character.isalpha() for character in text):
        return False
    if "? " in text:
        return False
    long = text.count(" ") + 1 >= _FEWEST_WORDS
    if not _VERB.search(text):
        return not long or bool(_ANSWERING.match(text))
    return (not long and bool(_ANSWERING.match(text))) or (text.count(" ") < 8 and bool(_CUT_SHORT.search(text)))


def is_commitment(text: str) -> bool:
    """Whether `text` decides, promises or limits something."""
    return _commits(text, index_terms(text).split())


def is_courtesy(text: str) -> bool:
    """Whether `text` greets, thanks or agrees, and has no number, date or identifier that would make it an answer."""
    return bool(_COURTESY.match(text)) and not facts([text])[0].beside_names


def is_leaning(text: str) -> bool:
    """Whether the subject of `text` is named elsewhere: "It leaves at 7:40.", "And her name is Miso."."""
    addressed = _ADDRESSED.match(text)
    return bool(_LEANING.match(text, addressed.end() if addressed else 0))


def is_code(text: str) -> bool:
    """Whether `text` is a line of code, by its punctuation and its first word: `return Column(Integer)`, `PORT=5000`, `</div>`.

    A comment is words, and so is a sentence that quotes code in backticks.
    """
    if not _MAY_BE_CODE.search(text):
        return False
    return bool(_CODE.search(_QUOTED.sub("", text) if "`" in text else text))


def is_expression(text: str) -> bool:
    """Whether the numbers in `text` are what it says, and no value of something: `3 + 4 = 7`, `f(2) = 4`, `range(0, 10):`.

    A name and its one value is none, in code or out of it: `PORT=5000`.
    """
    if not ((_MAY_BE_FORMULA.search(text) and _FORMULA.search(text)) or is_code(text)):
        return False
    return not _SETTING.match(text)


def _is_empty(text: str, courtesy: bool, terms: tuple[str, ...], found: Facts) -> bool:
    """Whether a sentence without commitment is only polite. "Yep, Anna." has a name to it and still says nothing."""
    if text.count(" ") >= _COURTESY_WORDS:
        return False
    if not found.beside_names and " " not in text.strip() and len(terms) == 1 and text.isascii():
        return True
    return bool(_OFFER.match(text)) or (courtesy and not (found.all if len(terms) > 4 else found.beside_names))


def _commits(text: str, words: list[str]) -> bool:
    lowered = text.lower().replace("’", "'")
    return not _COMMITTING.isdisjoint(words) or any(map(lowered.__contains__, _COMMITTING_PHRASES))


def without_repetition(given: Sequence[Statement]) -> list[Statement]:
    """The statements without those that another makes superfluous (see `_replaces`), in order.

    Only pairs with a rare term in common are compared: of two sets whose Jaccard similarity is at least s, the first
    n - ceil(s * n) + 1 of n terms, rarest first, have one in common. Of the later statements with that term a statement is
    compared with the next `_COMPARED`, so that a thousand rows of one shape do not cost a million comparisons.
    """
    frequency = Counter(term for statement in given for term in statement.topic)
    sharing: dict[str, deque[Statement]] = {}
    dropped: set[int] = set()
    for older in reversed(given):
        topic = older.topic
        rarest = sorted(topic, key=lambda term: (frequency[term], term))[: len(topic) - math.ceil(_SAME * len(topic)) + 1]
        newer = {other.position: other for term in rarest for other in sharing.get(term, ())}
        for other in newer.values():
            if other.position in dropped or not _alike(topic, other.topic):
                continue
            if _replaces(other, older):
                dropped.add(older.position)
                break
            if _replaces(older, other):
                dropped.add(other.position)
        else:
            for term in rarest:
                sharing.setdefault(term, deque(maxlen=_COMPARED)).append(older)
    return [statement for statement in given if statement.position not in dropped]


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= _SAME * (len(one) + len(other) - shared)


def _replaces(by: Statement, one: Statement) -> bool:
    """Whether `by`, which is about the same, makes `one` superfluous.

    What a speaker said earlier is replaced by what the same speaker said later; where the numbers differ, if that is a revision
    (see `_revises`). The user also revises what the assistant or a tool said, and makes their echo superfluous, before or
    after, if it adds no number. What names other people or things, or has a date of its own, is about something else.
    """
    if by.question and not one.question:
        return False
    if not set(by.facts.others).issuperset(one.facts.others):
        return False
    same_speaker = (by.role, by.line.speaker) == (one.role, one.line.speaker)
    if not same_speaker and (by.role != "user" or one.role == "user"):
        return False
    if set(by.facts.numbers).issuperset(one.facts.numbers):
        return by.position > one.position or not same_speaker
    return by.position > one.position and _revises(by, one)


def _revises(by: Statement, one: Statement) -> bool:
    """Whether the numbers of `by` take the place of those of `one`, said before about the same.

    A statement of something whose value may change is revised. These are not: an expression, whose numbers are all that it
    says; what is told apart by the number that names it ("Day 1: 20 minutes", "Day 2: 30 minutes"); rows, steps and examples of
    one message, unless it corrects itself in so many words; and what has more numbers than are said anew. A tool's output is
    no message in that sense: "step 12 done" is where it had got to, until "step 13 done".
    """
    if len(by.facts.numbers) < len(one.facts.numbers):
        return False
    if by.role != "tool" and by.line.sources == one.line.sources and _CORRECTING.isdisjoint(by.terms):
        return False
    if by.expression or one.expression:
        return False
    return not (by.named and one.named and by.named != one.named)
