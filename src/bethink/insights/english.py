"""English words and phrases that the other modules need to know: data, no logic.

    whose words      what is quoted or pasted           values    what is no answer, and where an answer ends
    plain words      contractions, adverbs, fillers     people    relations and names
    what is stated   questions, conditions, hedges      corrections

`rules` has the statements themselves.
"""

# ruff: noqa: E501 - a pattern is read whole

from __future__ import annotations

import re

__all__ = [
    "ADVERBS",
    "ADVERBS_AFTER_AUXILIARY",
    "ADVERB_WORDS",
    "AND_IT",
    "BASE_FORMS",
    "BOUNDARY",
    "CHANGED_MIND",
    "CONDITION",
    "CONTRACTIONS",
    "CORRECTED",
    "CORRECTED_AFTER",
    "CORRECTING",
    "COUNT",
    "CUT_DEED",
    "CUT_PLACE",
    "CUT_THING",
    "DEMONYMS",
    "DETERMINERS",
    "EMPTY",
    "FILLER",
    "FIRST_PERSON",
    "FIRST_PERSON_FORMS",
    "FROM_NOW_ON",
    "GENERIC_THE",
    "GREETED_NAME",
    "GREETING",
    "GREETING_NAME",
    "HEDGE",
    "HYPOTHETICAL",
    "INSTEAD",
    "KEYLESS",
    "KIN_NAMED",
    "LATELY",
    "LIGHT_VERBS",
    "LISTS_THAT_ARE_ONE",
    "LONGEST_TITLE",
    "NAME",
    "NAMED_KIN",
    "NOT_NAMES",
    "NOT_OWN_WORDS",
    "NO_DEED",
    "NO_END",
    "NO_PLACE",
    "NO_THING",
    "ONE_OF_A_KIND",
    "OWN_NAMED",
    "PETS_AND_PEOPLE",
    "POINTING",
    "QUESTION",
    "QUOTED",
    "SELF",
    "SPOKEN_OF",
    "TIMELESS",
    "TRAILING",
    "VERSION",
    "WISH",
    "WRITTEN_OUT",
    "any_of",
    "pattern",
]


def any_of(words: str) -> str:
    """An alternation of the comma-separated `words`, the longest first."""
    return "|".join(sorted((re.escape(word.strip()) for word in words.split(",")), key=len, reverse=True))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def pattern(text: str) -> re.Pattern[str]:
    """`text` compiled; case makes no difference."""
    return re.compile(text, re.IGNORECASE)


# -- whose words ----------------------------------------------------------------------------------------------------------

_TASK = (
    "translate|rewrite|rephrase|paraphrase|proofread|summari[sz]e|edit|improve|correct|fix|review|shorten|classify|write|draft"
)
_TASK += "|compose|generate|create|complete|continue|pretend|imagine|role-?play|act as|say|repeat|analy[sz]e|explain"

NOT_OWN_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("<", re.compile(r"<memory\b[^>]*>[\s\S]*?(?:</memory\s*>|\Z)", re.IGNORECASE)),
    ("<", re.compile(r"<(?P<tag>[a-z][\w-]*)\b[^>]*>[\s\S]*?</(?P=tag)\s*>", re.IGNORECASE)),
    ("`", re.compile(r"`[^`\n]+`")),
    (">|", re.compile(r"(?m)^[ \t]*(?:>|\|).*$")),
    # A transcript, a mail header, a log line.
    (
        ":",
        re.compile(r"(?im)^[ \t]*(?:from|to|cc|subject|sent|date|user|human|assistant|system|ai|bot|customer|agent|q|a):.*$"),
    ),
    ("0", re.compile(r"(?m)^[ \t]*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*$")),
    # "Translate this: I am ..." and "Here is the mail I got:" with the text below.
    (
        ":",
        re.compile(
            rf"(?i)(?:^|(?<=[.!?\n]))[ \t]*(?:(?:can|could|would|will) you |please |pls )*(?:{_TASK})\b[^\n:]{{0,120}}:[\s\S]*\Z"
        ),
    ),
    (
        ":",
        re.compile(
            r"(?im)^[^\n]*\b(?:here(?:'s| is| are)|this is what|the following|below|pasted|forwarded|quote)\b[^\n]*:[ \t]*\n[\s\S]*\Z"
        ),
    ),
    ("/", re.compile(r"https?://\S+")),
)
"""What is passed on, each with characters of which one is in all that it matches."""

QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|\u00ab[^\u00bb\n]{1,400}\u00bb|(?<![\w'])'[^'\n]{2,400}'(?![\w'])")
SELF = pattern(r"\b(?:I|we|my|our|me|us|name)\b")
FIRST_PERSON = pattern(r"\b(?:I|I'm|me|my|mine|we|our|us|you|your)\b")
LONGEST_TITLE = 6

# -- plain words ----------------------------------------------------------------------------------------------------------

_NOT_STEMS = "do|does|did|is|are|was|were|have|has|had|would|should|could|need"

CONTRACTIONS = pattern(
    rf"\b(?:(?P<form>can't|cant|cannot|won't|wont|I ain't|I'm|im|I've|ive|I'll|I'd|we're|we've|we'll|let's|gonna|any more)\b"
    rf"|(?P<stem>{_NOT_STEMS})n'?t\b"
    r"|(?P<is>it|that|he|she|name|birthday|bday|there)'s\b"
    r"|(?P<who>\w+)'s (?=(?:allergic|vegetarian|vegan|called|named|lactose|gluten|from|a (?:vegetarian|vegan))\b)"
    r"|(?P<I>(?-i:i))\b)"
)
WRITTEN_OUT = {
    "can't": "can not", "cant": "can not", "cannot": "can not", "won't": "will not", "wont": "will not", "i ain't": "I am not",
    "i'm": "I am", "im": "I am", "i've": "I have", "ive": "I have", "i'll": "I will", "i'd": "I would", "we're": "we are",
    "we've": "we have", "we'll": "we will", "let's": "let us", "gonna": "going to", "any more": "anymore",
}  # fmt: skip
"""What the forms in `CONTRACTIONS` stand for."""

_ADVERBS = (
    "really,absolutely,just,also,still,actually,honestly,truly,totally,currently,now,recently,finally,always,definitely,usually,"
    "personally,particularly,especially,quite,simply,generally,mostly,super,genuinely,deeply,normally,already,officially,"
    "literally,kinda,very,so,too,both,all,completely,strictly,severely,deathly,highly,mildly,extremely,seriously,basically,"
    "originally,today,sadly,unfortunately,luckily,fortunately,only,even,strongly,much,rather,happily,proudly,pretty,thoroughly,"
    "incredibly,terribly,sort of,kind of,as of now,at the moment,these days,obviously,certainly,newly,soon,later"
)
ADVERB_WORDS = _words(_ADVERBS.replace(",", " "))
ADVERBS = pattern(rf"\b(I|we)(?: (?:{any_of(_ADVERBS)}))+(?= )")
ADVERBS_AFTER_AUXILIARY = pattern(
    rf"\b((?:I|we) (?:(?:am|are|have|do|did|will|was|were|can)(?: not)?(?: been)?|no longer))(?: (?:{any_of(_ADVERBS)}))+(?= )"
)

FILLER = pattern(
    r"^(?:(?:hi|hey|hello|hiya|well|so|and|but|or|plus|then|because|since|though|although|while|whereas|yeah|yep|yes|nope|no|nah"
    r"|ok|okay|oh|ah|actually|also|anyway|anyways|btw|by the way|just|honestly|personally|fyi|for the record|to be honest|tbh"
    r"|in fact|as you know|as I said|as I mentioned|like I said|remember that|remember|please|please remember|note that|please note"
    r"|keep in mind|keep in mind that|just so you know|thanks|thank you|great|good|cool|nice|wow|awesome|perfect|right|sure|hmm|um"
    r"|uh|lol|haha|sorry|wait|correction|update|small correction|quick update|good news|guess what|fun fact|unfortunately|sadly"
    r"|luckily|fortunately|lately|recently|currently|nowadays|these days|right now|at the moment|now|today|finally|first|for now"
    r"|of course|you know|I mean|i guess|the thing is|one more thing|another thing|context|background|about me|yesterday|last night"
    r"|last week|last month|last year|last weekend|this week|this weekend|this month|this year|this morning|next week|next month"
    r"|tomorrow|tonight)\b[\s,!:.-]*)+"
)

HYPOTHETICAL = pattern(
    r"^\W*(?:(?:so|and|but|well|ok|okay|now|hmm)\b[\s,]*)?(?:if|suppose|supposing|imagine|pretend|what if|let's say|lets say|say I|assuming|assume|hypothetically|in a hypothetical"
    r"|whether|unless|as if|even if|in case|had I|were I|once I|when I was|as a kid|as a child|for example|e\.g)\b"
)
CONDITION = pattern(
    r"^(?:and |but |or |so |only |even |just |especially )*(?:if|unless|whether|in case|as if|as long as|provided|assuming|suppose|imagine|pretend)\b"
)
HEDGE = re.compile(
    r"\b(?:would|might|could|may|maybe|perhaps|probably|possibly|wish|should|hopefully|thinking of|thinking about|considering"
    r"|tempted to|not sure|unsure|joking|kidding|sarcasm|supposedly|apparently|allegedly|in theory|hypothetically|pretend"
    r"|in my dream|dreamed|dreamt|if only|what if|if)\b"
)
FROM_NOW_ON = pattern(r"^\W*(?:please )?(?:from now on|by default|in this (?:repo|project|codebase))\W*$")
"""Before a clause: what it tells is to be done every time."""
VERSION = re.compile(r"(?<=\S) v?\d[\w.]*$")
WISH = pattern(r"^(?:I|we) would(?= (?:rather|prefer|like|appreciate)\b)")
"""What politely says what somebody wants, and doubts nothing."""
QUESTION = pattern(
    r"^(?:(?:and|but|so|or|then|please|also|hey|now) )*(?:what|what's|which|who|whom|whose|where|when|why|how|can|could|would|will|should|is|isn't"
    r"|are|do|does|did|any|have you|has|may|shall|am|was|were|recommend|suggest|got any|have any|mind|wanna|want to)\b"
)
BOUNDARY = pattern(
    r"\s*(?:,(?!\d)(?! (?:19|20)\d\d\b)(?! (?:and )?not )(?! [^,]{1,30}, (?:is|am|are|has|loves|likes|hates|lives|works|can|does)\b)"
    r"|;|:(?!\d)|\(|\)|\u2013|\u2014|\.{2,}|\u2026|\s-{1,2}(?=\s))\s*"
    r"|\s+(?=(?:but|because|although|though|so|while|whereas|which|who|when|whenever|where|if|unless|until|after|before|and|or|plus|then|since|even though)"
    r"\s+(?:I|we|my|our|it|that|they|he|she|you|there|this|the|her|his|its|am|is|was|just|also|now|really|looking|hoping|trying|need|want|have|had|can|not)\b)"
    r"|\s+(?=(?:if|unless|but|because|although|though|whereas)\b)"
)

# -- values ---------------------------------------------------------------------------------------------------------------

DETERMINERS = _words(
    """
    a an the my our some any this that these those your his her their its
    """
)
"""Left out of a value's short form."""

KEYLESS = DETERMINERS | _words(
    """
    to of in on at for with and or by from into be been going go very really so new
    """
)
"""Left out of the short form of what somebody did, does or will do."""

COUNT = any_of(
    "a,an,one,two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,fifteen,twenty,thirty,a couple of,a couple,couple of"
    ",a few,few,several,some,many,half a,a dozen"
)
COUNT = rf"(?:\d{{1,4}}|(?:{COUNT}))(?: and a half| or (?:so|two|three|four))?"
"""How many days or years: "two", "a couple of", "3"."""

LATELY = pattern(
    r"\b(?:recently|the other (?:day|night|week|weekend|morning|evening)|a (?:few|couple of|couple) (?:days|nights|weeks|months|years) (?:ago|back)"
    r"|some time ago|a while (?:ago|back)|this (?:morning|week|month|year)|earlier today|earlier this \w+|ages ago)\b"
)
"""A past that names no day."""

TRAILING = pattern(
    r"(?:[\s,]+(?:anyways?|though|tho|actually|then|(?:just )?for now|for the moment|for the time being|at the moment|at present"
    r"|right now|these days|nowadays|currently|lately|by the way|btw|of course|after all|in fact|to be honest|tbh|honestly"
    r"|obviously|indeed|please))+$"
)
"""What ends a statement without being part of it."""

CUT_THING = pattern(
    r"\s+(?:because|when|whenever|while|if|since|as|so|but|from|after|before|until|than|though|although|every|I|we|you|they"
    r"|more than|most of|very much|so much|a lot|lots|a bit|a ton|too|as well|these days|right now|lately|now|anymore|best|the most|the best|at all|either|even"
    r"|especially|though|is|are|was|were|has|have|can|will|and (?:I|it|we|that|they|he|she|you|the|my|am|do|can|have|always|just|really)|or anything|or something|and stuff|and all|and things)\b.*$"
)
CUT_DEED = pattern(
    r"\s+(?:because|but|which|though|although|and (?:I|it|we|that|they|he|she|you|there|was|am|is|had|have|felt|got|just|really|now|so)|so (?:I|we|that|excited|happy|much|far|it)|since|while|hoping|instead|anymore|as well|too|so|if|or something)\b.*$"
)
AND_IT = pattern(r"\s+(?:and|then) \w+ (?:it|them|this|that|him|her)\b.*$")
POINTING = pattern(
    r"\b(?:it|this|these|those|them|here|there|you|your|him|he|she|they)\b|\bthat(?=$| one\b)"
    r"|\bher(?=$| (?:on|at|in|about|for|to|when|and|again|back|soon|later|up|out|off|with|from|if|as|by|before|after)\b)"
)
"""A deed with one of these is only understood where it was said."""

EMPTY = pattern(
    r"^(?:(?:to|do|take|make|have|get|try|go with|go for|choose|pick|use|on|about|for) )*(?:(?:the|a|an|my|our|some|any|all|which) )?"
    r"(?:(?:whole|same|other|another|first|second|third|last|next|new|old|better|best|cheaper|bigger|smaller|right|wrong) )*"
    r"(?:it|this|that|these|those|them|him|her|he|she|me|us|one|ones|things?|stuff|journey|trips?|travels?|plans?|ideas?|matter"
    r"|issue|topic|subject|question|decision|choices?|options?|alternative|offer|proposal|suggestion|place|time|date|way|part"
    r"|project|event|deal|situation|rest|arrangements?|everything|something|anything|nothing|so|above|former|latter|yes|no"
    r"|not|same|other|others|first|second|last)$"
)
"""What has no content of its own: it names something that was spoken of before."""

CUT_PLACE = pattern(
    rf"\s+(?:(?:(?:about|around|almost|nearly|over|just) )?{COUNT} \w+ (?:ago|back|now)|with|for|since|because|originally|and|but|now|as|when|where|while|so|after|before|until|to|at|near|right now|these days|currently|last|this|next|next|in|on|again|anymore|too|just|by|about|recently|which|that|though|or|permanently|full time|yesterday|today|back|together|alone|from|actually|already|myself|if|also|is|was)\b.*$"
)
NO_THING = pattern(
    r"^(?:to$|it|this|that|these|those|them|they|you|your|yours|how|what|when|where|why|who|him|her|his|he|she|their|its|my|our|us|me|being|seeing|hearing"
    r"|knowing|having|getting|one|ones|some|such|all|both|to (?:hear|see|know|say|think|ask|help|be|have|get|know|do|make|share|hang|take|give|try|go|come|keep|use|learn more|talk|chat|start|look|let|imagine|believe|feel|show|find)"
    r"|everything|nothing|something|anything|everyone|anyone|someone|about|for|so|too|very|a lot|more|most|less|if|whether|any of|making sure|making the most|thinking|sharing|watching you|talking to|talking with|meeting|helping you"
    r"|I|we|not|no|and|or|of|like|seeing|each other|myself|here|there|doing|an? (?:good|great|nice|bit|lot|little|few|couple|way|lot of)\b|hanging|looking|trying)\b"
)
NO_END = pattern(r"\b(?:it|this|that|these|those|them|him|her|you|there|here|one|ones|me|us|such|what|how|why|who|where)$")
"""What a thing or deed does not end in: it would point at something said elsewhere."""

GENERIC_THE = pattern(
    r"^the (?:beach|outdoors|ocean|sea|mountains|rain|snow|cold|heat|summer|winter|gym|sun|countryside|city|theat(?:er|re)|opera|ballet|piano|guitar|violin|arts|cinema|forest|window seat|aisle seat|night train|dark|taste of .+|smell of .+)$"
)
NO_DEED = pattern(
    r"^(?:it|this|that|these|those|them|you|him|her|so|be|see|say|let|tell|ask|try|check|think|know|keep|make sure|look|need|give|have to|send|share|take a look|take care|do|use(?! (?-i:[A-Z0-9]))|remember|go ahead|stick|come back|start with|be back|be there|get back|try|read it|work on it|pass|make (?:my|our) dreams?|stay|get there|succeed|a few$|a few (?:minutes|moments|hours|days)|in$|have (?:a blast|fun|a (?:good|great) time)|good care|a look|a shot|a break|a moment|a minute|a nap|a shower|a chance|a step|care|action|advantage|time|the time|my time|part$|part (?!in)|one step|things|charge|that|another look|down|to heart|figure|work (?:hard|on)|continue|focus|help you|support|wait|show|hold|follow|do my best|miss|never|always|love|definitely|a lot|lots|some|more|all|the best|the chance|the opportunity|off|up|out|into it|through|over|back|there|here)\b"
)
NO_PLACE = _words(
    """
    a an my this that fear hope peace constant hiding pain college school town houses house sin here there it the your
    our his her their one work bed person love debt poverty squalor harmony style luck touch general front case trouble
    charge
    """
)
NOT_NAMES = _words(
    """
    i not the a an and or but so it is was my your his her our their this that what who in on at to for of from with as
    back later crazy maybe tomorrow tonight today when if by about going very really just called named monday tuesday
    wednesday thursday friday saturday sunday january february march april june july august september october november
    december christmas easter ok okay yes no hi hello thanks lgbtq hard irrelevant important unimportant mr mrs ms dr prof private secret
    anonymous are were has had can do did
    """
)
DEMONYMS = _words(
    """
    american australian brazilian british canadian catholic chinese christian croatian czech danish dutch english
    european filipino finnish french german greek hungarian indian indonesian iranian irish israeli italian jamaican
    japanese jewish kenyan korean latino mexican moroccan muslim nigerian norwegian pakistani peruvian polish portuguese
    protestant romanian russian scottish serbian spanish swedish swiss thai turkish ukrainian vietnamese welsh buddhist
    hindu african asian
    """
)
LISTS_THAT_ARE_ONE = frozenset(
    {
        "rock and roll",
        "rock and roll music",
        "arts and crafts",
        "mac and cheese",
        "fish and chips",
        "drum and bass",
        "salt and vinegar",
        "r and b",
        "black and white",
        "country and western",
        "bed and breakfast",
        "peanut butter and jelly",
        "dungeons and dragons",
        "trial and error",
        "peace and quiet",
    }
)
LIGHT_VERBS = pattern(
    r"^(?:to |just )*(?:go with|go for|going with|take|taking|book|booking|use|using|choose|choosing|pick|picking|get|have|settle on|stick with|stay with|do|on|upon)\s+"
)

BASE_FORMS = {
    "moving": "move", "flying": "fly", "travelling": "travel", "traveling": "travel", "heading": "head", "visiting": "visit",
    "starting": "start", "getting": "get", "launching": "launch", "running": "run", "attending": "attend", "hosting": "host",
    "meeting": "meet", "taking": "take", "returning": "return", "driving": "drive", "going": "go",
}  # fmt: skip
"""What "I am flying to Oslo on Friday" plans to do."""

TIMELESS = frozenset({"name", "age", "birthday", "origin", "pronouns"})
"""Slots whose answers do not begin to be true at a time that the statement names."""

# -- people ---------------------------------------------------------------------------------------------------------------

ONE_OF_A_KIND = _words(
    """
    wife husband spouse partner girlfriend boyfriend fiance fiancee fiancé fiancée mother mom mum father dad boss
    manager therapist doctor landlord dentist ex-wife ex-husband
    """
)
"""Of these a person has one at a time; of other relations several stand side by side."""

PETS_AND_PEOPLE = (
    "wife,husband,spouse,partner,girlfriend,boyfriend,fiance,fiancee,fiancé,fiancée,mother,mom,mum,father,dad,sister,brother,son,daughter,"
    "kid,child,baby,cousin,aunt,uncle,niece,nephew,grandmother,grandma,grandfather,grandpa,twin,stepson,stepdaughter,stepmother,stepfather,"
    "mother-in-law,father-in-law,sister-in-law,brother-in-law,ex-wife,ex-husband,friend,best friend,roommate,flatmate,housemate,neighbor,"
    "neighbour,colleague,coworker,co-worker,boss,manager,teammate,mentor,coach,teacher,therapist,doctor,dentist,landlord,tutor,client,"
    "assistant,business partner,cofounder,co-founder,dog,cat,puppy,kitten,pup,parrot,hamster,rabbit,horse,turtle,snake,bird,pet"
)
_KIN = any_of(PETS_AND_PEOPLE)
_ADJECTIVES = r"(?:(?:new|old|best|older|younger|oldest|youngest|little|big|elder|twin|good|close|dear|lovely|former|late|only|first|second|eldest|middle|baby|dear|beloved|golden retriever|labrador|tabby) )*"
NAME = r"[A-ZÀ-ÖØ-ÞŁŚŻŹČŠŽĐĆ][\w'\u00c0-\u024f-]*"

# "My wife Ana", "my dog's name is Miso", "my boss is Tom".
KIN_NAMED = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur) {_ADJECTIVES}(?P<of>{_KIN})(?P<link>(?:'s name)? is (?:called |named )?|,? (?:called|named) | |, )(?P<value>{NAME}(?: {NAME})?)(?!')(?=(?P<after>$|[\s,.!?;:)]))"
)
# "I have a dog named Miso".
OWN_NAMED = re.compile(
    rf"\b(?:I|[Ww]e) (?:have|adopted|got|have got) (?:a|an|two|three|another)? ?(?:\w+ ){{0,2}}?(?P<of>{_KIN})s?,? (?:(?:who is |whose name is )?(?:called|named|whose name is)) (?P<value>{NAME})(?: and (?P<second>{NAME}))?"
)
# "Ana is my wife".
NAMED_KIN = re.compile(rf"^(?P<value>{NAME}(?: {NAME})?)(?:,| is) (?:my|our) {_ADJECTIVES}(?P<of>{_KIN})$")
# "My colleague Kim can not stand jazz", "my mother is allergic to nuts".
SPOKEN_OF = re.compile(
    rf"^(?:[Mm]y|[Oo]ur) {_ADJECTIVES}(?P<of>{_KIN})(?:,? (?P<name>{NAME}))?,? (?P<verb>is|has|does not|can not|no longer|used to|\w+s|moved|relocated|joined)\b(?P<predicate>.*)$"
)
FIRST_PERSON_FORMS = {
    "is": "am", "has": "have", "does not": "do not", "can not": "can not", "no longer": "no longer", "used to": "used to",
    "moved": "moved", "relocated": "relocated", "joined": "joined", "loves": "love", "likes": "like", "hates": "hate",
    "dislikes": "dislike", "enjoys": "enjoy", "adores": "adore", "prefers": "prefer", "lives": "live", "works": "work",
    "speaks": "speak", "eats": "eat", "avoids": "avoid", "detests": "detest", "despises": "despise", "drinks": "drink",
    "resides": "reside",
}  # fmt: skip

# -- corrections ---------------------------------------------------------------------------------------------------------

# "I changed my mind: the bus instead of the train".
CHANGED_MIND = pattern(
    r"^.{0,30}?\bchanged (?:my|our) minds?(?: about [^:,.]+)?[\s:,.\u2014-]+(?:let us |I will |we will |I want |we want |please |make it |go with |take |do )*(?P<value>.{2,60}?),? (?:instead of|rather than|not) (?P<old>.{2,60}?)(?: please)?[.!]*$"
)
# "Actually it is Lisbon, not Porto"; what it is about is found among what is known.
CORRECTED = pattern(
    r"^(?:it is|that is|it should be|make (?:it|that)|I meant|I mean|I meant to say|that should be|should be) (?P<value>[\w' -]{1,30}?), (?:and )?not (?P<old>[\w' -]{1,30})$"
)
CORRECTED_AFTER = pattern(
    r"^.{0,20}?\b(?:it|that) is not (?P<old>[\w' -]{1,30}?)[,;:.\u2014-]+ ?(?:but|it is|that is) (?P<value>[\w' -]{1,30}?)[.!]*$"
)
CORRECTING = pattern(r"^\W*(?:actually|no|nope|sorry|correction|wait|oops|I meant?|my mistake|my bad|small correction)\b")
"""How a correction begins; without it, only names and numbers are taken for one ("it is exhausting, not fun" is none)."""

INSTEAD = pattern(r",? (?:and not|not|instead of|rather than) (?:(?:in|at|to|from|with) )?(?P<old>[^,;]{2,60})$")
GREETING_NAME = re.compile(
    rf"^(?:[Hh]i|[Hh]ello|[Hh]ey|[Gg]ood (?:morning|evening|afternoon))(?: there| everyone| all| \w+)?[,!.]? (?:I am|this is|my name is) (?P<value>{NAME})(?= here\b|[,.!]|$| and\b| from\b)"
)
GREETING = pattern(r"^(?:hi|hello|hey|good (?:morning|evening|afternoon))(?: there| everyone| all)?[.!]*$")
# The same after a greeting that is a sentence of its own: "Hi! I'm Ana."
GREETED_NAME = re.compile(rf"^I am (?P<value>{NAME})(?= here\b|[,.!]|$| and\b| from\b)")
