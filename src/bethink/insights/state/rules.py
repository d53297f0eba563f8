"""The patterns by which a state is drawn from English sentences. Data.

A sentence comes with contractions written out ("we'll" is "we will") and without adverbs that change nothing. Each rule says
which part of the state its sentences make, who may say them, and how the entry is worded: `value` is what the pattern caught.
An assistant is believed where it reports ("I have created ...", "we still need to decide ..."), not where it may be advising:
"we will use the quadratic formula", "note that", and the goals and checklists it proposes are not the state of anybody's work.
"""

from __future__ import annotations

import re

import msgspec

from bethink.insights.english import pattern
from bethink.records import StatePart

__all__ = [
    "AMID",
    "HANGING",
    "MADE",
    "NEXT_REASON",
    "PATH",
    "POINTING",
    "REPORTED",
    "RULES",
    "SAID",
    "UNSURE",
    "WEAK",
    "Rule",
]

_EXTENSIONS = (
    "py|pyi|ipynb|js|mjs|ts|tsx|jsx|vue|svelte|md|mdx|rst|txt|json|jsonl|ya?ml|toml|ini|cfg|env|csv|tsv|parquet|sql|db|sqlite|pdf"
    "|html?|css|scss|sh|bash|go|rs|java|kt|swift|rb|php|cs|c|h|cpp|hpp|r|tex|bib|log|png|jpe?g|gif|svg|docx?|xlsx?|pptx?|zip"
    "|tar\\.gz|proto|graphql|tf|dockerfile|lock|xml"
)
PATH = re.compile(
    r"(?<![\w/\\@.-])(?:[a-z][a-z0-9+.-]*://[^\s<>\"')\]]+"
    rf"|(?:~|\.{{1,2}}|[A-Za-z]:)?[/\\]?(?:[\w.@-]+[/\\])*[\w@-][\w.@-]*\.(?:{_EXTENSIONS})"
    r"|(?:[\w.@-]+/)*(?:Dockerfile|Makefile|README|LICENSE))(?![\w/-])"
)
"""A file by its extension, or a URI."""

_MADE = (
    "created|written|wrote|added|saved|updated|generated|edited|modified|produced|exported|committed|uploaded|drafted|stored"
)
_WORKED = (
    "implemented|fixed|deployed|merged|refactored|migrated|released|configured|integrated|resolved|debugged|benchmarked"
    "|automated"
)
_WORKED_ON = (
    f"{_WORKED}|added|written|tested|created|updated|published|shipped|removed|installed|set up|built|submitted|uploaded"
    "|pushed|launched|drafted|renamed|rewritten|documented|optimi[sz]ed|reviewed|verified|scheduled|booked|ordered|registered"
)
_PASTIME = r"(?:re|binge)?-?(?:reading|watching|listening|playing)\b"
_I = "(?:we|I)"
_DECIDED = rf"{_I} (?:have )?(?:all |both )?(?:finally |ultimately )?"
_WORK = (
    "(?:project|work|task|app|application|effort|sprint|tool|site|study|report|launch|trip|event|essay|paper|book|thread|plan)"
)
_CHANGED = "(?:switch|switched|switching|migrate|migrated|migrating)(?: over)?"
_SET = "(?:is|was moved to|has moved to|was changed to|has changed to|has been moved to|is set (?:for|to))"
_NO_VALUE = r"(?!(?:not|a|an|too|very|approaching|coming|tight|still|flexible|also|more|less)\b)"
_OURS = r"(?=.*(?:\b(?:we|our|us|I|my)\b|\d|(?-i:[A-Z]{2})))"
_KNOWN = (
    "deadline|due date|launch date|release date|budget|word limit|word count|page limit|tech stack|target audience|team size"
)


class Rule(msgspec.Struct, frozen=True):
    """A pattern, and what a match of it says.

    Attributes:
        part: of the state.
        finds: matched at the start of a clause; its group `value` is what the entry is about.
        text: the entry's words.
        by_user: whether only a user is believed.
        line: whether it stands at the start of a sentence and nowhere else ("Goal: ...").
    """

    part: StatePart
    finds: re.Pattern[str]
    text: str = "{value}"
    by_user: bool = False
    line: bool = False


def _rule(part: StatePart, finds: str, text: str = "{value}", *, by_user: bool = False, line: bool = False) -> Rule:
    return Rule(part, pattern(finds), text, by_user, line)


RULES: tuple[Rule, ...] = (
    # Decisions.
    _rule("decision", rf"{_DECIDED}(?:decided|agreed|opted|chosen|chose|elected) to (?P<value>(?!disagree\b).+)"),
    _rule("decision", rf"{_DECIDED}(?:decided|agreed|opted|chosen|chose) not to (?P<value>.+)", "not to {value}"),
    _rule("decision", rf"{_DECIDED}(?:decided|ruled) against (?P<value>.+)", "against {value}"),
    _rule("decision", rf"{_DECIDED}(?:ruled out|scrapped|abandoned|ditched) (?P<value>.+)", "against {value}"),
    _rule("decision", rf"{_DECIDED}(?:settled|decided|landed) (?:up)?on (?P<value>.+)"),
    _rule("decision", rf"{_DECIDED}(?:decided|settled) in favou?r of (?P<value>.+)"),
    _rule("decision", rf"{_DECIDED}opted for (?P<value>.+)"),
    _rule("decision", rf"{_DECIDED}(?:decided|agreed|resolved) that (?P<value>.+)"),
    _rule("decision", rf"(?:{_I} have|we) (?:all |both )?(?:chose|chosen|picked|selected) (?!to\b|not\b|up\b)(?P<value>.+)"),
    _rule("decision", rf"(?:{_I} will|let us) not (?:go with|settle on|proceed with) (?P<value>.+)", "not go with {value}"),
    _rule("decision", rf"(?:{_I} will|let us) (?:go with|settle on|stick with) (?P<value>.+)", "go with {value}"),
    _rule("decision", r"(?:we are|I am) (?:going|sticking|proceeding) with (?P<value>.+)", "go with {value}"),
    _rule("decision", r"(?:we will|we are going to|let us) not use (?P<value>.+)", "not use {value}", by_user=True),
    _rule("decision", r"(?:we will|we are going to|let us) use (?P<value>.+)", "use {value}", by_user=True),
    _rule("decision", rf"{_I} (?:have |are |am |will )?{_CHANGED} (?P<value>from .+? to .+)", "switch {value}"),
    _rule("decision", rf"we (?:have |are |will )?{_CHANGED} to (?P<value>.+)", "switch to {value}"),
    _rule("decision", r"(?:it is|it was|it has been) (?:decided|agreed|settled)(?: that|:) (?P<value>.+)"),
    _rule("decision", r"(?:(?:the|our|my) )?(?:final )?decision (?:is|was) (?:made )?(?:to|that) (?P<value>.+)", line=True),
    _rule("decision", r"(?:final )?(?:decision|decided|agreed)(?: \d{1,3})?: (?P<value>.+)", line=True),
    # The goal, and how far the work is.
    _rule(
        "goal",
        r"(?:the|our|my)(?: main| overall| ultimate| primary| project| end| core| current| new)? (?:goal|objective|aim|mission)"
        rf"(?: (?:of|for|with|in) (?:this|the|our|my) (?:\w+ )?{_WORK})?(?: here)? (?:is|remains)(?: now| still)? (?:to )?"
        r"(?P<value>.+)",
        by_user=True,
    ),
    _rule("goal", r"(?:(?:project|main|overall|new) )?(?:goal|objective): (?P<value>.+)", by_user=True, line=True),
    _rule(
        "phase",
        r"(?:we are|I am)(?: now| currently)? (?:in|at|entering|moving (?:on )?(?:in)?to|starting|beginning) (?:the |our )"
        r"(?P<value>[\w -]{2,40}?) (?:phase|stage)\b",
    ),
    _rule(
        "phase",
        rf"{_I} (?:have )?(?:entered|reached|moved (?:on )?(?:in)?to|started|begun|began) (?:the |our )"
        r"(?P<value>[\w -]{2,40}?) (?:phase|stage)\b",
    ),
    _rule("phase", r"(?:the|our) current (?:phase|stage) (?:of .{2,40} )?is (?:now )?(?P<value>[\w -]{2,60})"),
    _rule("phase", r"(?:current )?(?:phase|stage): (?P<value>[\w -]{2,60})", by_user=True, line=True),
    # What is open. Before what is done: "we have not decided whether the migration is done".
    _rule("question", r"(?:open (?:question|issue|point|item)|unresolved|still open|tbd): (?P<value>.+)", line=True),
    _rule("question", r"(?:(?-i:TODO|FIXME)(?: ?\(\w+\))?:?|to-?do:) (?P<value>.+)", line=True),
    _rule(
        "question",
        rf"{_I} (?:still )?(?:need|have) to (?P<value>(?:decide(?! by\b)|figure out|settle on|agree on|agree who)\b.+)",
    ),
    _rule(
        "question",
        rf"{_I} have not (?:yet )?(?P<value>(?:decided|settled|agreed|figured out)\b.+?)(?: yet)?$",
        "not yet {value}",
    ),
    _rule(
        "question",
        r"(?:it is|it remains) (?:still )?(?:unclear|undecided|not clear|not decided|to be decided)(?: to (?:me|us))? "
        r"(?P<value>(?:whether|which|what|how|who|when|where)\b.+)",
    ),
    _rule(
        "question",
        r"(?P<value>(?:the|our|whether|which|who|how) [^,;]{3,80}?) (?:is|are|remains?) (?:still )?"
        r"(?:an open question|undecided|to be decided|tbd|up in the air)\b.*",
    ),
    # What is done.
    _rule("task", r"(?:done|completed|finished|shipped): (?P<value>.+)", line=True),
    _rule(
        "task",
        rf"{_I} (?:have )?(?P<verb>finished|completed) (?P<value>(?!up\b|off\b|half\b|part\b|\d+ ?%|{_PASTIME}).+)",
        "{verb} {value}",
    ),
    _rule("task", rf"{_I} have (?:successfully )?(?P<verb>{_WORKED_ON}) (?P<value>.+)", "{verb} {value}"),
    _rule("task", rf"{_I} (?:successfully )?(?P<verb>{_WORKED}) (?P<value>.+)", "{verb} {value}"),
    _rule(
        "task",
        r"(?P<value>(?:the|our|my|all) (?!(?:only|best|worst|whole|other|same|first|last|next|idea|point|thing|way)\b)"
        r"[\w' /.-]{3,60}?) (?P<verb>(?:is|are|has been|have been) (?:fully |all |successfully )?"
        r"(?:done|completed?|finished|deployed|merged|live|shipped|released))$",
        "{value} {verb}",
    ),
    # What is to be kept in mind.
    _rule("fact", rf"(?:please )?(?:note|remember|keep in mind|bear in mind) that (?P<value>{_OURS}.+)", by_user=True),
    _rule("fact", r"for the record,? (?P<value>.+)", by_user=True),
    _rule(
        "fact",
        r"(?:fact|key fact|important|constraint|requirement|note|fyi)(?: \d{1,3})?: (?P<value>.+)",
        by_user=True,
        line=True,
    ),
    _rule(
        "fact",
        rf"(?P<value>(?:the|our|my) (?P<key>(?:[\w-]+ ){{0,2}}(?:{_KNOWN})) {_SET} {_NO_VALUE}.+)",
        by_user=True,
    ),
    _rule(
        "fact",
        rf"{_I} have an? (?P<value>(?P<key>(?:[\w-]+ ){{0,2}}(?:{_KNOWN})) of (?=.*\d).+)",
        by_user=True,
    ),
)

MADE = pattern(
    rf"\b(?:{_I} (?:have )?(?:also )?(?:{_MADE})"
    r"|(?:was|were|has been|have been) (?:now )?(?:saved|written|exported|stored|generated|uploaded) (?:to|as|in|at|into)"
    r"|^(?:created|wrote|saved|updated|added|generated|new file|artifact|file):?)(?= )"
)
"""What a sentence says that names a file that was made."""

NEXT_REASON = pattern(
    r"^(?:(?:the|our|my|main) )*(?:reasons?|reasoning|rationale)(?: is| was|:)(?: that| because)? (?P<reason>.+)$"
    r"|^(?:this|that|it) is because (?P<because>.+)$|^because (?P<bare>.+)$"
)
UNSURE = pattern(
    r"\b(?:if|whether|unless|would|could|might|may|should|maybe|perhaps|probably|possibly|wish|hope|hoping|suppose|imagine"
    r"|pretend|considering|thinking (?:of|about)|not sure|unsure|almost|nearly|partly|partially|until|once|every time|had|never"
    r"|not|nobody|without|joking|for example|e\.g|let us say|said|says|asked|told|tell|ask|claims?|heard)\b"
)
"""In front of a clause: it is not what the speaker states of the work."""

HANGING = pattern(
    r"\b(?:is|are|was|were|that|the|a|an|of|to|for|with|and|or|in|on|by|from|entire|called|named|as|like|my|our|this|it|:)$"
)
"""The end of it is missing: it was quoted, or stands below."""

POINTING = pattern(r"^(?:this|that|these|those|it|them|him|her|one|here|there)\b")
"""Says what it means by pointing at it."""

AMID = pattern(
    rf"\b(?:this|these)\b(?! (?:\w+ )?(?:{_WORK}|week|month|year|quarter|semester|term|morning|afternoon|evening|weekend|spring"
    r"|summer|autumn|fall|winter|\w+day|january|february|march|april|may|june|july|august|september|october|november|december)\b)"
    r"|\b(?:the|our|my) (?:last|other|same|previous|first) ones?\b"
)
"""Points somewhere within: "error handling for this case". At the work itself and at a time is as good as a name."""

WEAK = pattern(
    r"^(?:(?:to|that|the|a|an|my|our|this|these|those|it|them|him|her|you|one|ones|so|do|did|be|is|are|go|just|some|something"
    r"|anything|things?|stuff|all|everything|both|same|option|way|there|here|with|on|for|in|of|and|or|too|now|again|yet|me|us"
    r"|also)\b\W*)*$"
)
"""Says nothing by itself."""

_REPORTED = (
    "decided|decision|agreed|opted|chosen|chose|elected|ruled |scrapped|abandoned|ditched|settled|landed|resolved|picked"
    "|selected|go with|going with|settle on|stick with|sticking with|proceeding with|switch|migrat|phase|stage|open question"
    "|open issue|open point|open item|unresolved|still open|tbd|todo|to-do|fixme|to decide|figure out|figured out|agree on"
    "|agree who|unclear|not clear|undecided|up in the air|done|finished|complete|shipped|live|artifact|new file|file:"
    f"|optimized|optimised|{_WORKED_ON}|{_MADE}"
)
_SAID = (
    "use |goal|objective|aim |mission|note|remember|in mind|for the record|fact:|important:|constraint:|requirement:|fyi"
    f"|{_KNOWN}"
)

REPORTED = tuple(sorted(set(_REPORTED.split("|")) - {"optimi[sz]ed"}))
"""What an assistant says of a state holds one of these, in small letters; what a user says, one of these or of `SAID`."""

SAID = (*REPORTED, *_SAID.split("|"))
