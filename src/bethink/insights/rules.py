"""How facts about oneself are stated in English: one rule for each way.

Patterns see clauses as `clauses.written_out` leaves them: "I am", "do not", no filler in front. A pattern is matched at the
start of a clause and nearly always begins with "I", "we" or "my"; that is what makes "she said I live in Rome" no residence.
Precision goes before recall: a fact that was missed is still in the log, a wrong one is believed. The first rule that fits a
clause decides. `rule` has what a rule is.
"""

# ruff: noqa: E501 - a pattern is read whole

from __future__ import annotations

from bethink.insights import english
from bethink.insights.domains.wordings import WORDINGS
from bethink.insights.english import any_of
from bethink.insights.rule import BE as _BE
from bethink.insights.rule import DO as _DO
from bethink.insights.rule import MONEY as _MONEY
from bethink.insights.rule import Rule, Shape
from bethink.insights.rule import Wording as _Wording
from bethink.insights.rule import rule as _rule
from bethink.insights.triggers import triggers

__all__ = ["RULES", "SPEAKING", "SPOKEN_OF_RULES", "TRIGGERS", "Rule", "Shape"]

_DIETS = (
    "vegetarian,vegan,pescatarian,pescetarian,flexitarian,carnivore,keto,paleo,halal,kosher,gluten-free,gluten free,dairy-free,plant-based,"
    "low-carb,low carb,low-sodium,low sodium,fruitarian,mediterranean,raw vegan"
)
_CONDITIONS = (
    "diabetic,asthmatic,epileptic,coeliac,celiac,pregnant,color blind,colour blind,colorblind,deaf,hard of hearing,blind,dyslexic,autistic,"
    "anemic,anaemic,hypertensive,immunocompromised,type 1 diabetic,type 2 diabetic,haemophiliac,hemophiliac"
)
_ILLNESSES = (
    "diabetes,type 1 diabetes,type 2 diabetes,asthma,epilepsy,celiac disease,coeliac disease,adhd,add,high blood pressure,hypertension,migraines,"
    "chronic migraines,arthritis,rheumatoid arthritis,ibs,crohn's disease,crohn's,anxiety,an anxiety disorder,depression,ptsd,bipolar disorder,cancer,"
    "a heart condition,a pacemaker,a bad back,a bad knee,sleep apnea,insomnia,gout,lupus,anemia,high cholesterol,kidney disease,dyslexia,hemophilia,vertigo"
)
_LANGUAGES = (
    "english,spanish,portuguese,french,german,italian,dutch,polish,russian,ukrainian,chinese,mandarin,cantonese,japanese,korean,arabic,hebrew,hindi,urdu,"
    "bengali,tamil,turkish,greek,swedish,norwegian,danish,finnish,czech,hungarian,romanian,thai,vietnamese,indonesian,malay,swahili,catalan,welsh,irish,"
    "esperanto,tagalog,persian,farsi,croatian,serbian,bulgarian,latin"
)
_OCCUPATIONS = (
    "engineer,developer,programmer,designer,teacher,nurse,doctor,lawyer,accountant,architect,artist,writer,author,journalist,editor,chef,cook,baker,barista,"
    "student,researcher,scientist,professor,lecturer,consultant,manager,director,analyst,musician,photographer,filmmaker,actor,actress,dancer,painter,"
    "plumber,electrician,carpenter,mechanic,pilot,driver,firefighter,paramedic,pharmacist,dentist,veterinarian,vet,therapist,psychologist,counselor,"
    "social worker,translator,librarian,farmer,gardener,salesperson,cashier,waiter,waitress,bartender,hairdresser,tailor,freelancer,entrepreneur,founder,"
    "ceo,cto,product manager,data scientist,project manager,administrator,secretary,receptionist,recruiter,marketer,trader,banker,economist,"
    "biologist,chemist,physicist,mathematician,geologist,historian,police officer,soldier,sailor,judge,surgeon,physician,midwife,paralegal,realtor,"
    "personal trainer,yoga teacher,streamer,youtuber,retiree,intern,apprentice,nanny,butcher,brewer,florist"
)
_PRAISE = "(?:excellent|great|good|bad|terrible|amazing|big|huge|fast|slow|better|wonderful|fantastic|decent|avid|amateur|aspiring|former|retired|beginner|terrific|careful|safe|heavy|born|natural|closet)"
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"


_ALLERGY: _Wording = ("constraint", "allergy:{key}", "allergic to {value}", "not allergic to {value}")
_INTOLERANCE: _Wording = ("constraint", "intolerance:{key}", "{value} intolerant", "not {value} intolerant")
_MEDICAL: _Wording = ("constraint", "medical:{key}", "has {value}", "does not have {value}")
_DIET: _Wording = ("constraint", "diet", "{value}", "not {value}")
_EATS: _Wording = ("constraint", "eats:{key}", "eats {value}", "does not eat {value}")
_DRINKS: _Wording = ("constraint", "drinks:{key}", "drinks {value}", "does not drink {value}")
_LIVES: _Wording = ("identity", "residence", "lives in {value}", "does not live in {value}")
_WORKS: _Wording = ("identity", "employer", "works at {value}", "does not work at {value}")
_JOB: _Wording = ("identity", "job", "works as {value}", "does not work as {value}")
_HAS_ALLERGY: _Wording = ("constraint", "allergy:{key}", "{value} allergy", "no {value} allergy")
_LIKES: _Wording = ("preference", "likes:{key}", "likes {value}", "does not like {value}")
_USES: _Wording = ("preference", "uses:{key}", "uses {value}", "does not use {value}")
_PLAN: _Wording = ("plan", "plan:{key}", "plans to {value}", "does not plan to {value}")
_DECIDED: _Wording = ("decision", "decision:{key}", "decided: {value}", "decided against: {value}")
_HAPPENED: _Wording = ("event", "event:{key}", "{verb} {value}", "did not do: {verb} {value}")
_LEGAL: _Wording = ("constraint", "legal:{key}", "{value}", "not {value}")
_GOAL: _Wording = ("goal", "goal:{key}", "goal: {value}", "not the goal: {value}")
_CAN: _Wording = ("skill", "skill:{key}", "can {value}", "cannot {value}")
_GOOD_AT: _Wording = ("skill", "skill:{key}", "good at {value}", "not good at {value}")
_DOING: _Wording = ("event", "doing:{key}", "is {verb} {value}", "is not {verb} {value}")
_HAS: _Wording = ("relation", "has:{of}", "has {value}", "does not have {value}")

_PLAYED = (
    "piano|guitar|violin|cello|flute|drums|saxophone|trumpet|clarinet|bass|ukulele|harp|banjo|accordion|viola|trombone|keyboard|harmonica|organ|synth"
    "|tennis|football|soccer|basketball|baseball|volleyball|rugby|hockey|cricket|golf|badminton|squash|table tennis|ping pong|chess|poker|bridge|softball|pickleball"
)
_LIVING = (
    "dogs?|cats?|pupp(?:y|ies)|kittens?|turtles?|parrots?|rabbits?|hamsters?|horses?|guinea pigs?|chickens?|birds?|fish|snakes?|ferrets?|pets?|kids?|children|child|bab(?:y|ies)"
    "|sons?|daughters?|twins|brothers?|sisters?|siblings?|grandchildren|grandkids|nieces?|nephews?|stepkids|roommates?|cousins?"
)
_OCCASIONS = (
    "meeting|appointment|flight|interview|exam|trip|wedding|surgery|operation|check-?up|checkup|deadline|concert|recital|conference|race|marathon|presentation|vacation"
    "|holiday|date|call|game|tournament|show|exhibition|workshop|class|party|picnic|barbecue|accident|ceremony|match|audition|test"
)

RULES: tuple[Rule, ...] = (
    # What belongs to one domain is said in more particular words.
    *WORDINGS,
    # Who somebody is.
    _rule("identity", "name", "name: {value}", "name is not {value}", r"(?:my|the) (?:full |first |real |actual )?name is (?P<neg>not )?(?:actually )?(?P<value>.+)", "high", "name"),
    _rule("identity", "name", "name: {value}", "name is not {value}", r"(?:(?:you can|you may|everyone|people|friends|my friends) )?(?:just )?calls? me (?P<value>.+)", "high", "proper"),
    _rule("identity", "pronouns", "pronouns: {value}", "pronouns are not {value}", r"(?:my pronouns are|I use) (?P<neg>not )?(?P<value>\w+/\w+(?:/\w+)?)", "high", "choice"),
    _rule(*_LIVES, r"(?:I|we) (?:(?:have )?moved|(?:have )?relocated)(?: (?:back|over))?(?: from (?P<old>.+?))?(?: back)? to (?P<value>.+)", "medium", "place", flags="spoken_of"),
    _rule(*_LIVES, r"(?:I|we) (?:have )?(?:moved|relocated) (?:out of|away from) (?P<value>.+)", "medium", "place", flags="negative spoken_of"),
    _rule(*_LIVES, rf"{_DO}(?:live|reside|living) in (?P<value>.+)", "medium", "place", flags="spoken_of"),
    _rule(*_LIVES, r"(?:I|we) (?:have lived|have been living|am living|are living|am based|are based|am located) in (?P<value>.+)", "medium", "place", flags="spoken_of"),
    _rule("identity", "origin", "from {value}", "not from {value}", r"I (?:am (?P<neg>not )?|come |came )from (?P<value>.+)", "medium", "place", flags="spoken_of", needs="from"),
    _rule("identity", "origin", "from {value}", "not from {value}", r"(?:I|we) (?:grew up|was born|were born|was raised|was born and raised) in (?P<value>.+)", "medium", "place"),
    _rule("identity", "age", "age: {value}", "not aged {value}", r"I (?:am (?P<neg>not )?|turned |have turned )(?P<value>\d{1,3})(?: ?years? old| ?yo|)(?: (?:last|this|on|in|yesterday)\b.*)?$", "medium", "choice", needs="am"),
    _rule("identity", "birthday", "birthday: {value}", "birthday is not {value}", rf"my (?:birthday|bday) is (?P<neg>not )?(?:on )?(?:the )?(?P<value>(?:{_MONTHS}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTHS})(?: \d{{4}})?)", "medium", "choice"),
    _rule("identity", "birthday", "birthday: {value}", "birthday is not {value}", rf"I was born on (?:the )?(?P<value>(?:{_MONTHS}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{_MONTHS})(?: \d{{4}})?)", "medium", "choice"),
    _rule("identity", "timezone", "time zone: {value}", "time zone is not {value}", r"(?:my time ?zone is|I am (?:in|on) the) (?P<value>(?:UTC|GMT)(?:[+-]\d{1,2}(?::\d\d)?)?|ET|CT|MT|PT|EST|EDT|CDT|MST|MDT|PST|PDT|CST|CET|CEST|WET|WEST|IST|JST|(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)/[A-Z][A-Za-z_]+)\b", "medium", "choice"),
    _rule("identity", "speaks:{key}", "speaks {value}", "does not speak {value}", rf"{_DO}(?:speak|know) (?:fluent |some |a little |native |basic )?(?P<value>(?:{any_of(_LANGUAGES)})(?:(?:, | and |, and )(?:some |a little |fluent |basic )?(?:{any_of(_LANGUAGES)}))*)(?: fluently| well| natively)?\b", "medium", "choice", flags="many spoken_of"),
    _rule("identity", "speaks:{key}", "speaks {value}", "does not speak {value}", rf"(?:my )?(?:native|first) language is (?P<value>{any_of(_LANGUAGES)})\b", "medium", "choice"),
    _rule("identity", "marital", "{value}", "not {value}", rf"{_BE}(?P<value>married|divorced|widowed|engaged|single)(?= to\b|$|,| and| now| with| for| since)", "medium", "choice"),
    _rule("identity", "marital", "{value}", "not {value}", r"(?:I|we) (?:have )?(?:got|gotten) (?P<value>married|divorced|engaged)\b", "medium", "choice"),
    _rule(*_WORKS, r"(?:I|we) (?:have )?(?:switched|changed|moved) jobs from (?P<old>.+?) to (?P<value>.+)", "medium", "proper"),
    _rule(*_WORKS, r"I (?:have )?(?:left|quit|resigned from|was fired from|got fired from|got laid off from|was laid off from) (?:my (?:job|position|role) (?:at|with) )?(?P<value>.+)", "medium", "proper", flags="negative"),
    _rule(*_WORKS, rf"{_DO}(?:work|working) (?:at|for) (?P<value>.+)", "medium", "proper", flags="spoken_of"),
    _rule(*_WORKS, r"I (?:am working|have been working|have worked|am employed|started working|work as an? [\w -]+?|work in [\w -]+?|work remotely|am an? [\w -]+?) (?:at|for|by) (?P<value>.+)", "medium", "proper", flags="spoken_of more", needs="am"),
    _rule(*_WORKS, r"I (?:have )?(?:joined|started at|got a job at|got a new job at|started a (?:new )?job at|got hired by|got hired at) (?P<value>.+)", "medium", "proper", flags="spoken_of"),
    _rule(*_JOB, r"(?:I (?:(?P<past>no longer |used to )|(?P<neg>do not ))?(?:work as|am working as|have been working as|got a job as|got promoted to|was promoted to)|my (?:job|occupation|profession) is(?: being)?) (?:an? |the )?(?P<value>.+?)(?= (?:at|for|in|with|by)\b|$)", "medium", "thing", flags="spoken_of"),
    _rule(*_JOB, rf"{_BE}an? (?!{_PRAISE}\b)(?P<value>(?:[\w-]+ ){{0,2}}(?:{any_of(_OCCUPATIONS)}))(?=$| (?:at|for|in|by|with|from|based|who|and)\b)", "medium", "choice", flags="spoken_of"),
    # What must be respected.
    _rule(*_LEGAL, r"(?:I|we) (?:am|are)(?:(?P<past> no longer)|(?P<neg> not))? (?P<value>on (?:parole|probation|bail)|under (?:an? )?(?:nda|non-disclosure agreement|non-compete|gag order|house arrest|court order)|bound by (?:an? )?(?:nda|non-disclosure agreement|non-compete)|on an? (?:student|work|tourist|visitor|spouse|[A-Z]-?\d\w?) visa)\b", "high", "choice", needs="under", flags="spoken_of"),
    _rule("constraint", "legal:{key}", "has {value}", "does not have {value}", r"I (?:(?P<neg>do not )|(?P<past>no longer ))?have (?:an? )?(?P<value>restraining order(?: against [\w ]{2,30})?|(?:full |sole |joint |shared )?custody of (?:my|our) [\w ]{2,20}|non-compete(?: clause| agreement)?(?: with [\w ]{2,30})?)$", "high", "choice"),
    _rule("constraint", "legal:{key}", "signed {value}", "did not sign {value}", r"I (?:have )?(?P<neg>not )?signed (?:an? )?(?P<value>(?:nda|non-disclosure agreement|non-compete|prenup)(?: with [\w ]{2,30})?)$", "high", "choice"),
    _rule("constraint", "legal:{key}", "not allowed to {value}", "allowed to {value}", r"(?:I|we) (?:am|are) (?:legally )?(?:not allowed|forbidden|prohibited|banned|not permitted)(?: by law| legally)? (?:to|from) (?P<value>(?:leave|leaving|travel|travelling|traveling|work|working|contact|contacting|own|owning|possess|possessing|enter|entering|vote|voting) ?.*)", "high", "deed", needs="allowed permitted"),
    _rule(*_ALLERGY, rf"{_BE}allergic to (?P<value>.+)", "high", flags="many spoken_of"),
    _rule(*_HAS_ALLERGY, r"I (?:(?P<neg>do not )|(?P<past>no longer ))?have an? (?:(?:severe|serious|bad|mild|deadly|life-threatening|terrible) )?(?P<value>[\w -]{2,30}?) allergy", "high", flags="spoken_of"),
    _rule(*_ALLERGY, r"I (?:(?P<neg>do not )|(?P<past>no longer ))?have (?:an? )?(?:(?:severe|serious|bad|mild|deadly) )?(?:allergy|allergies) to (?P<value>.+)", "high", flags="many spoken_of"),
    _rule(*_INTOLERANCE, rf"{_BE}(?P<value>lactose|gluten|fructose|histamine|dairy)[ -]intolerant", "high", "choice", flags="spoken_of"),
    _rule(*_INTOLERANCE, rf"{_BE}intolerant (?:to|of) (?P<value>.+)", "high", flags="many spoken_of"),
    _rule(*_MEDICAL, rf"I (?:(?P<neg>do not )|(?P<past>no longer ))?(?:have|suffer from|live with|have been diagnosed with|was diagnosed with|got diagnosed with) (?P<value>{any_of(_ILLNESSES)})\b", "high", "choice", flags="spoken_of", needs="back"),
    _rule("constraint", "medical:{key}", "{value}", "not {value}", rf"{_BE}(?:an? )?(?P<value>{any_of(_CONDITIONS)})\b", "high", "choice", flags="spoken_of"),
    _rule("constraint", "medication:{key}", "takes {value}", "does not take {value}", r"I (?:(?P<past>no longer |used to |stopped )|(?P<neg>do not ))?(?:take|am taking|taking) (?P<value>\w+)(?: \d+ ?mg)? (?:daily|every (?:day|morning|evening|night)|twice a day|once a day|for my (?:blood pressure|heart|asthma|diabetes|migraines|anxiety|thyroid|depression))\b.*", "high", "choice"),
    _rule("constraint", "medication:{key}", "on {value}", "not on {value}", rf"{_BE}on (?P<value>blood thinners|antidepressants|insulin|medication|birth control|antibiotics|chemo|chemotherapy|beta blockers|dialysis)\b", "high", "choice", flags="spoken_of"),
    _rule(*_DIET, rf"(?:I|we) (?:have )?(?:switched|changed|gone|went) from (?:being )?(?:an? )?(?P<old>{any_of(_DIETS)}) to (?:being )?(?:an? )?(?P<value>{any_of(_DIETS)})\b", "high", "choice"),
    _rule(*_DIET, rf"{_BE}(?:an? )?(?:on an? )?(?:following an? )?(?P<value>{any_of(_DIETS)})\b(?![ -](?:restaurant|place|food|recipe|cook|chef|blog|options?|curious|ish|friendly|dish|dinner|meal|curry|burger))", "high", "choice", flags="spoken_of"),
    _rule(*_DIET, rf"(?:I|we) (?:(?P<past>no longer |used to |stopped being )|(?P<neg>do not ))?(?:eat|follow|keep|am on|stick to|have been on|went on|started) (?:an? |my )?(?:strict(?:ly)? )?(?P<value>{any_of(_DIETS)})\b(?: diet)?(?![ -](?:restaurant|place|food|recipe|dish|dinner|meal|curry|burger|option))", "high", "choice", flags="spoken_of"),
    _rule(*_DIET, rf"(?:I|we) (?:have )?(?:went|gone|turned|became|become|am going|am becoming|switched to(?: being)?) (?:an? )?(?P<value>{any_of(_DIETS)})\b", "high", "choice"),
    _rule(*_EATS, r"(?:I|we) (?:do not eat|can not eat|never eat|no longer eat|avoid eating|stopped eating|quit eating|am not eating|am not allowed to eat|can not have any|have to avoid|must avoid|need to avoid) (?:any )?(?P<value>.+)", "high", flags="negative many spoken_of", needs="any"),
    _rule(*_DRINKS, r"(?:I|we) (?:do not drink|can not drink|never drink|no longer drink|stopped drinking|quit drinking|gave up drinking) (?:any )?(?P<value>.+)", "medium", flags="negative many spoken_of"),
    _rule("constraint", "smokes", "smokes", "does not smoke", r"(?:I|we) (?:do not |never |no longer |used to |quit |stopped )(?P<value>smoke|smoking)\b", "medium", "choice", flags="negative spoken_of"),
    _rule("constraint", "can:{key}", "can {value}", "cannot {value}", r"I (?:can not|do not|am not able to|am unable to|do not know how to|am not allowed to|never learned to|never learned how to) (?P<value>drive|swim|fly|cycle|ride a bike|walk far|climb stairs|stand for long|lift heavy things|have kids|have children|travel alone|work weekends|work on weekends|work nights|work late)\b", "medium", "choice", flags="negative spoken_of"),
    _rule("constraint", "fear:{key}", "afraid of {value}", "not afraid of {value}", rf"{_BE}(?:afraid|scared|terrified) of (?P<value>.+)", "medium", flags="spoken_of"),
    _rule("constraint", "budget:{of}", "budget for {of}: {value}", "budget for {of} is not {value}", rf"(?:my|our) (?:total |max(?:imum)? |overall |monthly )?budget for (?P<of>[\w ]{{2,30}}?) is (?P<neg>not )?(?:now )?(?P<value>(?:about |around |under |up to |roughly |at most |max )?{_MONEY})", "medium", "choice"),
    _rule("constraint", "budget", "budget: {value}", "budget is not {value}", rf"(?:my|our) (?:total |max(?:imum)? |overall |monthly )?budget is (?P<neg>not )?(?:now )?(?P<value>(?:about |around |under |up to |roughly |at most |max )?{_MONEY})", "medium", "choice"),
    _rule("constraint", "budget", "budget: at most {value}", "budget is not {value}", rf"(?:I|we) (?:can not|do not want to|can only|can|will not|must not) (?:spend|afford|pay)(?: more than| over| up to| at most| about)? (?P<value>{_MONEY})", "medium", "choice"),
    # What somebody likes.
    _rule(*_LIKES, r"(?:my|our) (?:main |biggest |favou?rite |new |other )?hobb(?:y|ies) (?:is|are|includes?) (?P<value>.+)", flags="many", needs="hobby hobbies"),
    _rule(*_LIKES, r"(?P<value>[\w' ,-]{3,60}?) (?:is|are|has been|have been) (?P<neg>not )?(?:definitely |still |now |always )?my (?:main |biggest |favou?rite |new |other |true |greatest )?(?:hobby|hobbies|passion|passions|happy place|stress relief|escape|go-to|obsession)\b.*", flags="many", needs="hobby hobbies"),
    _rule("preference", "favourite:{of}", "favourite {of}: {value}", "favourite {of} is not {value}", r"my (?:all[- ]time |absolute |new )?favou?rite (?P<of>(?!one|part|thing|way|bit|aspect)[\w' -]{2,30}?) (?:is|are|has to be) (?P<neg>not )?(?:definitely |still |now |actually |probably |called )?(?P<value>.+)"),
    _rule("preference", "favourite:{of}", "favourite {of}: {value}", "favourite {of} is not {value}", r"(?P<value>[\w' -]{2,40}?) (?:is|are) (?P<neg>not |no longer )?my (?:all[- ]time |absolute )?favou?rite (?P<of>(?!one|part|thing|way|bit|aspect)[\w' -]{2,30})"),
    _rule("preference", "prefers:{pair}", "prefers {value} to {old}", "does not prefer {value} to {old}", rf"{_DO}prefer (?P<value>.+?) (?:to|over|rather than|instead of) (?P<old>[\w' -]{{2,40}})", flags="spoken_of"),
    _rule("preference", "likes:{key}", "prefers {value}", "does not prefer {value}", rf"{_DO}prefer (?P<value>.+)", flags="spoken_of"),
    _rule(*_LIKES, r"(?:I|we) (?:can not stand|hate|dislike|detest|despise|loathe|do not care for|have never liked|have always hated|never liked|can not bear|avoid) (?P<value>.+)", flags="negative many spoken_of", needs="care"),
    _rule(*_LIKES, r"(?:I|we) (?:can not|could not) get enough of (?P<value>.+)", flags="many", needs="enough"),
    _rule(*_LIKES, rf"{_DO}(?:like|love|enjoy|adore|liking|enjoying) (?P<value>.+)", flags="many spoken_of"),
    _rule(*_LIKES, r"(?:I|we) have (?:liked|loved|enjoyed|adored) (?P<value>.+)", flags="many"),
    _rule(*_LIKES, rf"{_BE}(?:an? )?(?:(?:big|huge|massive|major|avid|real|great|big time) )?(?:into|fond of|crazy about|fan of|passionate about|obsessed with|keen on|fans of|hooked on) (?P<value>.+)", flags="many spoken_of", needs="into"),
    _rule(*_USES, r"(?:I|we) (?:have )?(?:switched|migrated|changed|converted) (?:over )?from (?P<old>.+?) to (?P<value>.+)"),
    _rule(*_USES, r"(?:I|we) (?:have )?(?:switched|migrated|converted) (?:over )?to (?P<value>.+?)(?: from (?P<old>.+))?$"),
    _rule(*_USES, rf"{_DO}use (?P<value>[A-Z][\w.+#-]*(?: [A-Z][\w.+#-]*)*)(?= for\b| as\b| on\b| at\b| now\b|$)", "medium", "proper"),
    # What is settled, and what is to come.
    _rule(*_DECIDED, r"(?:I|we) (?:have )?changed (?:my|our) minds?:? about (?P<value>.+)", "medium", "deed", flags="negative"),
    _rule(*_DECIDED, r"(?:I|we) (?:have )?(?:decided against|decided not to|ruled out) (?P<value>.+)", "medium", "deed", flags="negative"),
    _rule(*_DECIDED, r"(?:I|we) (?:have )?(?:decided|chosen|chose|settled|opted) (?:to |on |that (?:I|we) (?:will |are going to |am going to )?|for |in favou?r of )(?P<value>.+)", "medium", "deed"),
    _rule(*_DECIDED, r"(?:I|we) (?:have )?(?:chosen|chose|picked) (?P<value>.+)", "medium", "deed"),
    _rule(*_DECIDED, r"(?:(?:let us|we will|I will) (?P<neg>not )?(?:go with|go for|take|settle (?:on|for)|stick with)|(?:we are|I am) (?:going with|sticking with)) (?P<value>.+)", "medium", "deed"),
    _rule(*_DECIDED, r"let us (?P<neg>not )?(?:book|choose|pick|use|stay at|stay in|buy) (?P<value>(?:the|a|an) .+|[A-Z].+|.+ (?:train|bus|flight|ferry|option|one|plan|route|hotel|apartment|flat|house|car|offer|job|package|deal)\b.*)", "medium", "deed"),
    _rule(*_GOAL, r"(?:my|our) (?:main |next |new |personal |long-term |biggest |ultimate )?(?:goal|dream|aim|ambition|resolution) is (?P<neg>not )?(?:now )?(?:to )?(?P<value>.+)", "medium", "deed"),
    _rule(*_GOAL, r"(?:I|we) (?:(?P<past>no longer |used to )|(?P<neg>do not )|have )?(?:dream|dreamed|dreamt) of (?P<value>.+)", "medium", "deed"),
    _rule(*_GOAL, r"(?:I|we) (?:am|are) (?:aiming|determined|striving) (?:to|for) (?P<value>.+)", "medium", "deed"),
    _rule(*_GOAL, r"(?:I|we) hope to (?P<value>(?:become|start|open|own|build|learn|finish|adopt|move|travel|visit|buy|publish|win|run|make|get|have) .+)", "medium", "deed", needs="hope"),
    _rule(*_GOAL, r"(?:I|we) (?:(?P<past>no longer )|(?P<neg>do not ))?(?:want|have wanted) to (?P<value>(?:become|learn|open|own|lose|improve my|write a|start (?:a|an|my|our)|run (?:a|an|my)|build (?:a|an|my) own|be an?|get (?:better at|stronger|fitter|healthier|in shape)|publish|adopt|buy an?|study|travel to|visit|retire|move to) ?.*)", "medium", "deed", needs="want"),
    _rule(*_GOAL, r"(?:I|we) (?:am|are|have been) (?:saving(?: up)?|training) (?P<value>(?:for|to) .+)", "medium", "deed"),
    _rule("plan", "plan:{key}", "plans {value}", "cancelled: {value}", r"(?:I|we) (?:have )?(?:cancell?ed|called off|dropped) (?:my|our|the) (?:plans? (?:to|for) )?(?P<value>.+)", "medium", "deed", flags="negative"),
    _rule(*_PLAN, r"(?:I|we) (?:(?P<past>no longer )|(?P<neg>do not ))?(?:plan|intend) (?:to|on) (?P<value>.+)", "medium", "deed"),
    _rule(*_PLAN, r"(?:I|we) (?:am|are)(?:(?P<past> no longer)|(?P<neg> not))? (?P<verb>going) (?P<value>(?:on|to) (?:a|an|the|my|our|(?-i:[A-Z])).*)", "medium", "deed", flags="dated"),
    _rule(*_PLAN, r"(?:I|we) (?:am|are)(?:(?P<past> no longer)|(?P<neg> not))? (?:planning|going|intending|set|scheduled|about)(?: on)? to (?!(?:a|an|the|my|our|his|her|(?-i:[A-Z]\w+))\b)(?P<value>.+)", "medium", "deed", needs="about"),
    _rule("plan", "plan:{key}", "plans {value}", "does not plan {value}", r"(?:I|we) (?:am|are) planning (?P<value>(?:a|an|our|my) .+)", "medium", "deed"),
    _rule(*_PLAN, r"(?:I|we) (?:am|are) (?P<verb>moving|flying|travell?ing|heading|visiting|starting|getting|launching|running|attending|hosting|meeting|taking|returning|driving) (?P<value>.+)", "medium", "deed", flags="dated"),
    _rule(*_PLAN, r"(?:I|we) will (?P<neg>not )?(?P<value>.+)", "medium", "deed", flags="dated"),
    _rule("plan", "plan:{key}", "has {value}", "does not have {value}", rf"(?:I|we) (?:(?P<neg>do not )|(?P<past>no longer ))?have (?P<value>(?:an?|my|our) (?:[\w-]+ ){{0,3}}(?:{_OCCASIONS})\b.*)", "medium", "deed", flags="dated"),
    # What somebody is able to do, has, and is busy with.
    _rule(*_CAN, r"I (?:(?P<past>no longer )|(?P<neg>do not ))?know how to (?P<value>.+)", "medium", "deed", flags="spoken_of", needs="how"),
    _rule(*_CAN, rf"I (?:can (?P<neg>not )?|have been able to )(?P<value>(?:play (?:the )?(?:{_PLAYED})|sew|knit|juggle|code in \w+|read music|speak sign language|program in \w+|touch type|surf|ski|skate|dance)\b.*)", "medium", "deed", flags="spoken_of"),
    _rule("skill", "skill:{key}", "plays {value}", "does not play {value}", rf"{_DO}play(?:ing)? (?:the )?(?P<value>(?:[\w-]+ )?(?:{_PLAYED}))\b", "medium", "choice", flags="spoken_of"),
    _rule("skill", "skill:{key}", "plays {value}", "does not play {value}", rf"I (?:have been playing|started playing|started learning|am learning) (?:the |to play (?:the )?)?(?P<value>(?:[\w-]+ )?(?:{_PLAYED}))\b", "medium", "choice", flags="more"),
    _rule(*_GOOD_AT, rf"{_BE}(?:good|great|skilled|experienced|proficient|fluent|talented|an expert|terrible|bad|hopeless) (?:at|in|with) (?P<value>.+)", "medium", flags="many spoken_of", needs="in at with"),
    _rule(*_HAS, rf"{_DO}have (?:got )?(?P<value>(?:{english.COUNT}) (?:(?:adorable|little|young|beautiful|older|younger|teenage|small|grown|lovely|pet|rescue|cute) )*(?P<of>{_LIVING}))\b(?! (?:named|called|who|whose|with)\b)", "medium", "choice", needs="have"),
    _rule(*_DOING, r"(?:I|we) (?:(?:am|are|have been)(?P<neg> not)?) (?P<verb>working on|learning|studying|writing|building|training for|practi[cs]ing|researching|volunteering at|volunteering with|preparing for|organi[sz]ing|developing|designing|renovating|recovering from|taking care of|planning for) (?P<value>.+)", "low", "deed", needs="preparing"),
    # What happened.
    _rule(*_HAPPENED, r"(?:I|we) (?:have )?(?P<verb>adopted|rescued|graduated|passed|failed|won|completed|finished|retired|launched|published|opened|sold|enrolled|signed up for|ran|bought|purchased|quit|started|joined|broke|got promoted|got accepted|got laid off|got fired|got hired|got into|lost my|lost our|had a baby|had surgery|became|applied for|applied to|was promoted|was hired|was accepted|were accepted|moved)\b ?(?P<value>.*)", "low", "deed", needs="into"),
    _rule(*_HAPPENED, r"(?:I|we) (?:have )?(?P<verb>went to|went on|went|travell?ed to|flew to|visited|attended|met|met up with|watched|saw|read|made|painted|baked|cooked|planted|built|wrote|organi[sz]ed|volunteered at|volunteered|performed at|performed|celebrated|hosted|hiked|climbed|donated|took part in|participated in|took|was in|were in|was at|were at|got|gave|played|ran|hosted|tried|signed|received|booked|ordered|saw|learned|learnt|found|discovered|created|designed|drew|threw|explored|upgraded|rented|taught|gave|raised|shared|presented|beat|rode|cycled|swam|recorded|released|repaired|renovated|helped|lost|met with|had dinner with|had lunch with|caught up with|hung out with|got to|took up|checked out|came out|spoke at|talked at|talked to) (?P<value>.+)", "low", "deed", flags="dated", needs="was were got"),
    _rule(*_HAPPENED, rf"(?:I|we) (?P<verb>had) (?P<value>(?:an?|my|our|the) (?:[\w-]+ ){{0,3}}(?:{_OCCASIONS})\b.*)", "low", "deed", flags="dated"),
)  # fmt: skip

SPOKEN_OF_RULES = tuple(rule for rule in RULES if rule.spoken_of)

_OPENING = "hi hello hey morning evening afternoon name changed not isn isnt let lets ll won wont gonna m im"
_SPEAKING = "i we my our me us name im ive let lets not isn isnt"

TRIGGERS = (
    frozenset().union(*(rule.triggers for rule in RULES))
    | {word + plural for word in triggers(english.PETS_AND_PEOPLE) for plural in ("", "s")}
    # Greetings with a name, changed minds, corrections, and what is said with an apostrophe ("I'll", "let's").
    | frozenset(_OPENING.split())
)
"""A sentence without one of these words states nothing."""

SPEAKING = frozenset(_SPEAKING.split())
"""Nor does one without one of these: it is not about its speaker, and corrects nothing."""
