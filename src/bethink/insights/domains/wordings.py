"""How people state what single domains ask for, in English: data, as in `rules`, where these stand first.

    shopping    brands, sizes, style, what things may cost          support     products, plans, what is broken, how to put it right
    health      medication, past and family, treatment, contact     learning    levels, what is hard, how somebody learns
    money       risk, income, savings, debts, retirement            code        languages, tools, conventions, what must hold

They are read whatever template is in use, so that what was said once is there for a template that is taken later. Nearly all
have a word of their domain in them, from a list where there is one, and so say nothing of other talk.
"""

# ruff: noqa: E501 - a pattern is read whole

from __future__ import annotations

from bethink.insights.domains.listed import FRAMEWORKS, LANGUAGES, TOOLS
from bethink.insights.english import any_of
from bethink.insights.rule import BE, DO, MONEY, Rule, Wording, rule

__all__ = ["ORDERS", "WORDINGS"]

# -- lists ----------------------------------------------------------------------------------------------------------------

_STYLES = (
    "minimalist,minimalistic,casual,smart casual,business casual,formal,vintage,retro,bohemian,boho,sporty,streetwear,classic,preppy,modern,mid-century,"
    "rustic,scandinavian,industrial,gothic,elegant,oversized,slim-fit,loose-fitting,monochrome,colourful,colorful"
)
_WORN = "shoes?|boots?|sneakers?|trainers?|shirts?|t-shirts?|tops?|dress(?:es)?|pants|trousers|jeans|shorts|jackets?|coats?|sweaters?|hoodies?|rings?|hats?|gloves?|helmets?|suits?"
_SIZED = "shoe|boot|sneaker|shirt|t-shirt|top|dress|pants|trouser|jeans|jacket|coat|sweater|ring|hat|glove|helmet|suit|waist|bra|clothing|clothes|bike|frame"
_SIZE = r"\d{1,3}(?:\.5|½)?|X{0,3}S|M|X{0,3}L|extra small|small|medium|large|extra large"
_DRUGS = (
    "metformin,insulin,lisinopril,ibuprofen,aspirin,warfarin,atorvastatin,simvastatin,statins,levothyroxine,amlodipine,omeprazole,sertraline,fluoxetine,"
    "escitalopram,citalopram,albuterol,ventolin,losartan,ramipril,bisoprolol,metoprolol,gabapentin,prednisone,prednisolone,amoxicillin,eliquis,xarelto,"
    "apixaban,rivaroxaban,clopidogrel,ozempic,semaglutide,adderall,ritalin,lithium,paracetamol,acetaminophen,methotrexate,humira,tamoxifen,tramadol,"
    "hydrochlorothiazide,furosemide,pantoprazole,montelukast,lamotrigine,quetiapine,zoloft,prozac,lexapro,xanax,blood thinners,beta blockers"
)
_ILLNESS = (
    "heart disease,heart attacks?,heart problems,stroke,strokes,diabetes,type 1 diabetes,type 2 diabetes,breast cancer,colon cancer,skin cancer,ovarian cancer,"
    "prostate cancer,lung cancer,cancer,high blood pressure,hypertension,high cholesterol,glaucoma,alzheimer's,dementia,depression,osteoporosis,epilepsy,asthma"
)
_PARENTS = "mother|mum|mom|father|dad|grandmother|grandma|grandfather|grandpa|brother|sister|aunt|uncle|parents|family"
_HAD = (
    r"heart attack|(?:mini-?)?stroke|concussion|blood clot|c-section|caesarean|miscarriage|seizure|pneumonia|appendicitis|meningitis|hernia operation|appendectomy|hysterectomy"
    r"|(?:hip|knee|shoulder) replacement|(?:heart|open-heart|bypass|back|spinal|knee|hip|shoulder|gastric bypass|cataract|laser eye) (?:surgery|operation)"
    r"|(?:appendix|gallbladder|spleen|tonsils|wisdom teeth) (?:removed|taken out|out)|kidney stones|organ transplant|kidney transplant|blood transfusion"
)
_TREATMENTS = (
    r"surgery|an operation|physical therapy|physiotherapy|physio|talk therapy|cognitive behavioral therapy|cbt|counsell?ing|(?:stronger |oral |prescription )?medication|medications|pills|injections"
    r"|generics|generic (?:drugs|medication|medicines?)|antibiotics|opioids|painkillers|strong painkillers|steroids|antidepressants|natural remedies|home remedies|herbal (?:remedies|medicine|tea)|acupuncture"
    r"|chemotherapy|chemo|radiation|telehealth|telemedicine|video (?:visits|appointments|consultations)|in-person (?:visits|appointments)|a second opinion|blood transfusions"
    r"|general anaesthesia|general anesthesia|a female doctor|a male doctor|needles|lifestyle changes|conservative treatment|non-surgical (?:options|treatment)"
)
_CHANNELS = r"e-?mails?|phone calls?|(?:the )?phone|text messages?|texts|sms|whatsapp|video calls?|live chat|letters?|voicemail|in writing|the patient portal|the app"
_ANSWERS = (
    r"(?:short|brief|concise|detailed|thorough|plain|simple|direct|honest|blunt|gentle|clear|step[- ]by[- ]step|written|visual|bullet[- ]point|jargon-free|technical|non-technical)"
    r"(?:,? (?:and )?(?:short|brief|concise|detailed|plain|simple|direct|honest|clear|step[- ]by[- ]step))?"
    r" (?:answers?|explanations?|replies|responses|language|feedback|instructions?|summaries|english|communication)"
)
_DEBTS = "student loans?|student debt|credit cards?|credit card debt|mortgage|car loan|auto loan|medical debt|medical bills|personal loan|business loan|debt|loans?"
_HELD = r"savings|a 401k|my 401k|a 401\(k\)|my 401\(k\)|an ira|a roth ira|my ira|my roth ira|my pension|an emergency fund|my emergency fund|index funds|stocks|bonds|crypto|an isa|my isa|a brokerage account|my brokerage account"
_DEVICES = (
    "printer|router|modem|smartphone|laptop|macbook|tablet|camera|headphones|earbuds|headset|monitor|keyboard|mouse|smart speaker|soundbar|smartwatch|fitness tracker|robot vacuum|vacuum|vacuum cleaner"
    "|thermostat|doorbell|television|tv|console|charger|fridge|refrigerator|dishwasher|washing machine|washer|dryer|oven|microwave|coffee machine|espresso machine|blender|drone|e-bike|scooter|projector|server|nas"
)
_FAILING = (
    r"(?:(?:will not|does not|do not|can not|is not able to) (?:turn|switch|power|connect|start|charge|work|print|load|sync|pair|open|boot|respond|update|install|recogni[sz]e|hold a charge)"
    r"|keeps? (?:crashing|freezing|disconnecting|losing|restarting|rebooting|dropping|overheating|turning off|shutting down|failing|jamming|beeping|buffering|logging me out)"
    r"|(?:has |have )?stopped (?:working|charging|printing|connecting|responding|syncing)|(?:is|are) (?:overheating|frozen|faulty|defective|leaking|flickering)"
    r"|(?:arrived|came) (?:damaged|broken|late|incomplete)|never arrived|has not arrived|did not arrive|was (?:charged twice|declined|lost in transit))"
)
_REMEDIES = r"(?:an? |my |the |your )?(?:full |partial |new )?(?:refund|replacement|exchange|store credit|repair|price adjustment|callback|call back|money back|technician(?: visit)?|human agent|human)"
_LEVELS = "complete beginner|total beginner|absolute beginner|beginner|novice|intermediate|advanced"
_STUDIED = (
    r"maths?|mathematics|algebra|linear algebra|geometry|trigonometry|calculus|statistics|probability|physics|chemistry|organic chemistry|biology|history|geography|economics|accounting|philosophy"
    r"|programming|coding|python|java|javascript|c\+\+|rust|sql|machine learning|data science|spanish|french|german|italian|portuguese|japanese|chinese|mandarin|korean|arabic|english|latin|grammar|writing|reading|spelling|music theory|chess"
)
_CONVENTIONS = (
    r"(?:\d |two |four |eight )?(?:tabs|spaces)(?: for indentation| over \w+| instead of \w+)?|snake_case|camelcase|pascalcase|kebab-case|conventional commits|semantic versioning|semver|trunk-based development|gitflow"
    r"|tdd|test-driven development|type hints|type annotations|strict (?:mode|typing|types)|single quotes|double quotes|trailing commas|semicolons|(?:google|numpy)(?:-style)? docstrings|docstrings|early returns"
    r"|small (?:functions|commits|prs|pull requests)|functional style|composition over inheritance|squash merges|rebasing|feature branches|feature flags|(?:british|american) spelling|pure functions|dependency injection"
    r"|absolute imports|relative imports|f-strings|dataclasses|async/await|parametri[sz]ed tests|code reviews?|pre-commit hooks?|linear history"
)
_STACK = f"{any_of(LANGUAGES)}|{any_of(FRAMEWORKS)}|{any_of(TOOLS)}"
_END = r"(?=$|[\s,.;:!)])"
_ITEM = rf"(?:{_STACK})(?: v?\d[\w.]*)?{_END}"
_LIST = rf"{_ITEM}(?:(?: and |, and |, | & ){_ITEM})*"
_OURS = r"(?:my|our) (?:[\w-]+ )?(?:project|repo|repository|codebase|code|app|application|site|service|services|backend|back end|frontend|front end|api|team|company|stack|tech stack|database|db|ci|pipeline|infrastructure|build|tests?|editor|cli|library|monorepo)"
_VERSIONED = "python|node|node\\.js|java|go|rust|php|ruby|typescript|django|react|angular|rails|postgres|postgresql|kubernetes"
_IN_CODE = (
    "use|add|write|run|commit|push|force[- ]push|merge|rebase|squash|import|include|return|raise|catch|log|test|mock|document|comment|format|lint|name|prefer|follow|keep|put|create|delete|remove|edit|modify|change|touch|install"
    "|upgrade|update|deploy|refactor|ask|explain|show|give|start|end|answer|respond|reply|include|avoid|leave|skip|check|make|validate|sign|pin|cache|hard-?code|rename|split|call|translate|suggest|assume|generate|work|talk|speak"
)

# -- what is stated -------------------------------------------------------------------------------------------------------

_BRAND: Wording = ("preference", "brand:{key}", "buys {value}", "does not buy {value}")
_PRICE: Wording = ("preference", "price_sensitivity", "{value}", "not {value}")
_SIZES: Wording = ("identity", "size:{of}", "{of} size: {value}", "{of} size is not {value}")
_MEDICATION: Wording = ("constraint", "medication:{key}", "takes {value}", "does not take {value}")
_HISTORY: Wording = ("constraint", "medical_history:{key}", "had {value}", "did not have {value}")
_FAMILY: Wording = ("constraint", "family_history:{key}", "in the family: {value}", "not in the family: {value}")
_TREATMENT: Wording = ("preference", "treatment:{key}", "treatment: prefers {value}", "treatment: does not want {value}")
_CONTACT: Wording = ("preference", "contact", "contact: {value}", "contact: not {value}")
_WORDED: Wording = ("preference", "communication:{key}", "wants {value}", "does not want {value}")
_RISK: Wording = ("preference", "risk_tolerance", "risk tolerance: {value}", "risk tolerance: not {value}")
_INCOME: Wording = ("identity", "income", "income: {value}", "income is not {value}")
_SAVED: Wording = ("identity", "savings", "savings: {value}", "savings: not {value}")
_OWES: Wording = ("constraint", "debt:{of}", "owes {value} ({of})", "does not owe {value} ({of})")
_RETIRES: Wording = ("goal", "retirement", "wants to retire {value}", "does not want to retire {value}")
_GOAL: Wording = ("goal", "goal:{key}", "goal: {value}", "not the goal: {value}")
_PRODUCT: Wording = ("identity", "product:{key}", "has {value}", "does not have {value}")
_PLAN: Wording = ("identity", "subscription", "{value} plan", "not on the {value} plan")
_ISSUE: Wording = ("event", "issue:{key}", "issue: {value}", "no issue: {value}")
_EXPERTISE: Wording = ("skill", "expertise", "expertise: {value}", "expertise: not {value}")
_REMEDY: Wording = ("preference", "resolution", "wants {value}", "does not want {value}")
_LEVEL: Wording = ("skill", "level:{of}", "level in {of}: {value}", "level in {of} is not {value}")
_STRUGGLES: Wording = ("skill", "struggles:{key}", "struggles with {value}", "does not struggle with {value}")
_LEARNS: Wording = ("preference", "learning_style:{key}", "learns best {value}", "does not learn well {value}")
_LEARNER: Wording = ("preference", "learning_style:{key}", "{value} learner", "not a {value} learner")
_STUDY: Wording = ("constraint", "study_time", "time to study: {value}", "time to study: not {value}")
_USES: Wording = ("preference", "uses:{name}", "uses {value}", "does not use {value}")
_CONVENTION: Wording = ("preference", "convention:{key}", "convention: {value}", "convention: no {value}")
_REQUIRES: Wording = ("constraint", "requirement:{key}", "must {value}", "need not {value}")

WORDINGS: tuple[Rule, ...] = (
    # Shopping.
    rule(*_BRAND, rf"{DO}(?:only )?(?:buy|wear|shop at|order from|swear by|stick to) (?P<value>(?-i:[A-Z])[\w&'+-]*(?: (?-i:[A-Z])[\w&'+-]*){{0,2}})(?= products| shoes| clothes| gear| stuff| because| anymore| whenever| when|$|,| and| for\b)", "medium", "proper"),
    rule(*_BRAND, r"(?:I|we) (?:avoid|boycott|would not buy|stay away from) (?P<value>(?-i:[A-Z])[\w&'+-]*(?: (?-i:[A-Z])[\w&'+-]*){0,2})(?= products| shoes| clothes| gear| stuff|$)", "medium", "proper", flags="negative", needs="stay"),
    rule("preference", "favourite:brand", "favourite brand: {value}", "favourite brand is not {value}", r"my (?:go-to|preferred|favou?rite) brands? (?:of [\w ]{2,20}? |for [\w ]{2,20}? )?(?:is|are) (?P<neg>not )?(?P<value>.+)", "medium", "proper"),
    rule(*_PRICE, r"(?:I|we) (?:am|are) (?P<neg>not )?(?:very |pretty |quite )?(?P<value>(?:price|budget|cost)[- ](?:sensitive|conscious))\b", "medium", "choice"),
    rule(*_PRICE, r"(?:I|we) (?:am|are) (?P<neg>not )?(?P<value>on an? (?:very |really |pretty )?(?:tight|small|limited|student|shoestring|strict|low) budget)\b", "medium", "choice"),
    rule("preference", "price_sensitivity:{key}", "does not mind {value}", "minds {value}", r"(?:I|we) do not mind (?P<value>(?:paying|spending) (?:a (?:bit|little) )?(?:more|extra|a premium)(?: for [\w ]{2,30})?)", "medium", "choice"),
    rule("preference", "price_sensitivity", "price matters ({value})", "price does not matter", r"(?:price|money|cost) is (?P<neg>not )?(?:an? |the |my )?(?:real |big |main )?(?P<value>issue|object|concern|priority) (?:for|to) me\b", "medium", "choice"),
    rule("preference", "price_sensitivity:{key}", "looks for {value}", "does not look for {value}", r"(?:I|we) (?:look for|wait for|hunt for|shop for|wait until there is|buy) (?P<value>(?:the )?(?:best |good |cheapest |lowest )?(?:deals?|bargains?|sales?|discounts?|coupons?|price)|(?:everything |things |clothes |most things )?(?:on sale|second[- ]hand|secondhand))\b", "medium", "choice"),
    rule("preference", "style:{key}", "style: {value}", "style: not {value}", r"my (?:personal |clothing |fashion |decorating |home )?(?:style|look|taste) is (?P<neg>not )?(?:more |mostly |pretty |quite )?(?P<value>.+)", "medium", "thing", flags="many"),
    rule("preference", "style:{key}", "style: {value}", "style: not {value}", rf"{DO}(?:like|love|prefer|wear|dress in|go for) (?:an? )?(?P<value>(?:{any_of(_STYLES)}) (?:style|styles|clothes|clothing|looks?|outfits?|designs?|furniture|decor|fashion|pieces))\b", "medium", "choice"),
    rule("preference", "style:{key}", "style: {value}", "style: not {value}", rf"{DO}(?:dress|wear|decorate) (?:mostly |mainly )?(?P<value>(?:{any_of(_STYLES)}|all black|black|dark colou?rs|bright colou?rs|neutral (?:colou?rs|tones)))(?=$|,| and | to | for )", "medium", "choice"),
    rule(*_SIZES, rf"my (?P<of>{_SIZED}) size is (?P<neg>not )?(?:now )?(?:an? )?(?P<value>(?:EU |US |UK )?(?:{_SIZE}))\b", "medium", "choice"),
    rule(*_SIZES, rf"(?:I|we) (?:wear|take|need|am) (?:an? )?(?:size )?(?P<value>(?:EU |US |UK )?(?:{_SIZE})) (?:in|for) (?P<of>{_WORN})\b", "medium", "choice", needs="am"),
    rule("identity", "size", "size {value}", "not size {value}", rf"I (?:wear|take|am) (?P<neg>not )?(?:an? )?size (?P<value>(?:EU |US |UK )?(?:{_SIZE}))\b", "medium", "choice"),
    # Health.
    rule(*_MEDICATION, r"I (?:(?P<past>no longer |stopped )|(?P<neg>do not ))?(?:take|taking|am taking|have been taking|am on|was prescribed|have been prescribed|was put on|have been put on) (?P<value>[a-z][\w-]+)(?: tablets| pills)?(?: \(?\d[\d.,]* ?(?:mg|mcg|ml|units))\b", "high", "choice", needs="mg mcg ml units am"),
    rule(*_MEDICATION, rf"I (?:(?P<past>no longer |stopped |used to )|(?P<neg>do not ))?(?:take|taking|use|am taking|have been taking|am on|was prescribed|have been prescribed|was put on|have been put on) (?P<value>(?:{any_of(_DRUGS)})(?:(?:, and |, | and )(?:{any_of(_DRUGS)}))*)\b", "high", "choice", flags="many", needs="am"),
    rule(*_MEDICATION, r"I (?:was|have been) prescribed (?P<value>[a-z][\w-]+)\b", "high", "choice"),
    rule(*_MEDICATION, rf"my (?:doctor|gp|specialist|psychiatrist|cardiologist|physician) (?:has )?(?:prescribed|put me on|started me on|has me on) (?:me )?(?P<value>(?:{any_of(_DRUGS)})(?:(?:, and |, | and )(?:{any_of(_DRUGS)}))*)\b", "high", "choice", flags="many"),
    rule(*_HISTORY, rf"I (?:(?P<neg>have never )|have )?had (?:an? |my |two |three )?(?:(?:serious|bad|mild|minor|major) )?(?P<value>{_HAD})\b(?: in \d{{4}})?", "high", "choice"),
    rule(*_FAMILY, rf"(?:there is )?(?:a (?:family )?history of )?(?P<value>{any_of(_ILLNESS)}) (?:runs?|is) in my family", "high", "choice", needs="heart"),
    rule(*_FAMILY, rf"(?:my (?:{_PARENTS}) (?:has|have) |there is |I have )an? (?:strong )?(?:family )?history of (?P<value>{any_of(_ILLNESS)})\b", "high", "choice", needs="history"),
    rule("constraint", "family_history:{key}", "in the family: {value} ({of})", "not in the family: {value} ({of})", rf"my (?P<of>{_PARENTS}) (?:died of|died from|died of an?|had|had an?) (?P<value>{any_of(_ILLNESS)})\b", "high", "choice"),
    rule("constraint", "blood_type", "blood type: {value}", "blood type is not {value}", r"(?:my blood type is|I am blood type) (?P<neg>not )?(?P<value>(?:AB|A|B|O)(?:[ -]?(?:positive|negative)|[+-])?)(?![\w])", "high", "choice"),
    rule(*_TREATMENT, rf"(?:I|we) (?:would rather|would prefer|prefer|would like|want)(?: to)? (?P<neg>not (?:to )?|avoid |no )?(?:(?:try|use|have|take|do|get|start with|be on|have to have|any|more) )*(?P<value>(?:{_TREATMENTS})(?: (?:over|to|rather than|instead of|before|first)(?: [\w -]{{3,30}})?)?)(?=$|,| if| when| for| because| unless)", "high", "choice", needs="second"),
    rule(*_TREATMENT, rf"(?:I|we) (?:do not want|do not like|refuse|am against|are against|want to avoid|would like to avoid|try to avoid|am trying to avoid|am not comfortable with|would never (?:take|have)|will not (?:take|have)|do not do well with) (?:(?:to (?:take|have|try|use|be on)|taking|having|using|any|more) )*(?P<value>{_TREATMENTS})\b", "high", "choice", flags="negative", needs="second"),
    rule(*_CONTACT, rf"(?:I|we) (?:prefer|would prefer|would rather)(?: to)? (?:(?:be (?:contacted|reached|notified)|get (?:updates|reminders|messages)|communicate|talk|getting (?:updates|reminders)|being contacted|updates|reminders)(?: (?:by|via|over|on|through))? )?(?P<value>{_CHANNELS})(?: (?:over|to|rather than|instead of) [\w ]{{3,20}})?$", "medium", "choice"),
    rule(*_CONTACT, rf"(?:the best way|the easiest way) to (?:reach|contact|get hold of) me is (?:by |via |through |on |over )?(?P<value>{_CHANNELS})\b", "medium", "choice"),
    rule(*_WORDED, rf"(?:I|we) (?:prefer|like|want|need|appreciate|would like|would prefer|would appreciate) (?P<value>{_ANSWERS})\b", "medium", "choice"),
    rule(*_WORDED, r"(?:I|we) (?:prefer|like|want|need|would like|would prefer)(?: it when you| you to| if you)? (?P<value>(?:explain|explaining|explanations|things explained|it explained) (?:things |it )?(?:in (?:plain|simple|layman's|everyday) (?:language|words|terms|english)|simply|slowly|step by step|without jargon|with examples|in detail))\b", "medium", "choice"),
    # Money.
    rule(*_RISK, r"my (?:risk tolerance|risk appetite|tolerance for risk|appetite for risk|risk profile) is (?P<neg>not )?(?:now )?(?P<value>(?:(?:very|fairly|pretty|quite|relatively) )?[\w-]+)", "high", "choice"),
    rule(*_RISK, rf"{BE}(?:an? )?(?:very |fairly |pretty |quite )?(?P<value>risk[- ]averse|risk[- ]tolerant|(?:conservative|aggressive|moderate|cautious|balanced) investor|(?:conservative|aggressive|cautious) with (?:my|our) (?:money|investments|savings))\b", "high", "choice"),
    rule("preference", "risk_tolerance", "risk tolerance: comfortable with {value}", "risk tolerance: not comfortable with {value}", r"(?:I|we) (?:am|are) (?P<neg>not )?(?:comfortable|okay|ok|fine) (?:with|taking) (?:taking )?(?P<value>(?:an? (?:lot|bit) of |some |more |high |higher |big |low |moderate |much )?(?:risks?|volatility|losses|market swings|ups and downs))\b", "high", "choice"),
    rule("preference", "risk_tolerance", "risk tolerance: does not want {value}", "risk tolerance: wants {value}", r"(?:I|we) (?:do not want to take|do not like taking|can not afford|can not stand|do not like) (?P<value>(?:any |much |big |many |a lot of )?(?:risks?|volatility))\b", "high", "choice"),
    rule(*_INCOME, rf"(?:I|we) (?:earn|make|bring home|bring in|take home|am paid|get paid|are paid|am earning|am making|now earn|now make) (?:about |around |roughly |over |nearly )?(?P<value>(?:{MONEY}|\d[\d.,]*k?(?= an? year| per year| a month| per month| annually))(?: an? (?:year|month|week|hour)| per (?:year|month|week|hour)| annually)?(?: (?:before|after) tax(?:es)?)?)(?=$|,| and| as| at| before| after| from| now)", "high", "choice", needs="am"),
    rule(*_INCOME, rf"(?:my|our) (?:(?:annual|yearly|monthly|gross|net|take-home|base|household|combined|current) )*(?:income|salary|pay) is (?P<neg>not )?(?:now )?(?:about |around |roughly )?(?P<value>(?:{MONEY}|\d[\d.,]*k?)(?: an? (?:year|month|week|hour)| per (?:year|month|week|hour)| annually)?(?: (?:before|after) tax(?:es)?)?)", "high", "choice"),
    rule("identity", "savings:{of}", "{value} in {of}", "not {value} in {of}", rf"(?:I|we) (?:now )?have (?:about |around |roughly )?(?P<value>{MONEY}) in (?P<of>{_HELD})(?!\w)", "high", "choice", needs="savings k"),
    rule(*_SAVED, rf"(?:I|we) (?:now )?have (?:about |around |roughly )?(?P<value>{MONEY}) (?:saved|put aside|set aside|in the bank)\b", "high", "choice", needs="put set"),
    rule(*_OWES, rf"(?:I|we) (?:still )?(?:owe|have) (?:about |around |roughly )?(?P<value>{MONEY}) (?:in|on|of|left on|in outstanding) (?:my |our |the )?(?P<of>{_DEBTS})\b", "high", "choice"),
    rule(*_OWES, rf"(?:I|we) have an? (?P<of>{_DEBTS}) (?:of|for) (?:about |around )?(?P<value>{MONEY})", "high", "choice"),
    rule("constraint", "debt:{key}", "has {value}", "does not have {value}", r"(?:I|we) (?:(?P<neg>do not )|(?P<past>no longer ))?have (?:an? |some |any )?(?P<value>student loans?|student debt|credit card debt|mortgage|car loan|medical debt)(?=$|,| and | to | that | left| outstanding)", "high", "choice"),
    rule(*_RETIRES, r"(?:I|we) (?:(?P<neg>do not )|(?P<past>no longer ))?(?:want|plan|hope|would like|intend|am planning|are planning|am hoping|aim) to retire (?P<value>(?:early|at|by|before|around|in|when)\b ?[\w ]{0,30}?)(?=$|,| and | if | so )", "high", "choice"),
    rule("goal", "horizon", "time horizon: {value}", "time horizon is not {value}", r"(?:my|our) (?:investment |time |investing )+horizon is (?P<neg>not )?(?P<value>[\w -]{2,30})", "high", "choice"),
    rule(*_GOAL, r"(?:I|we) (?:(?P<past>no longer )|(?P<neg>do not ))?(?:want|would like|hope|aim|need|am trying|are trying|am hoping) to (?P<value>(?:pay (?:off|down)|refinance|max out|diversify|get out of debt|become debt[- ]free|put (?:money )?aside|set aside|build (?:up )?(?:an? |my |our )?(?:emergency fund|nest egg|portfolio|savings|credit)|grow (?:my|our) (?:savings|wealth|portfolio|money)|save (?:up |more |money |\S*\d\S* )*for|invest (?:in|for|more|my|our))\b.*)", "medium", "deed", needs="pay off"),
    # Support.
    rule(*_PLAN, r"(?:I|we) (?:am|are) (?P<neg>not )?(?:on|subscribed to) (?:the |your |an? )?(?P<value>[A-Za-z][\w+]*(?: [A-Z][\w+]*)?) (?:plan|tier|subscription)\b", "medium", "choice"),
    rule(*_PLAN, r"(?:I|we) (?:(?P<past>no longer |used to )|(?P<neg>do not ))?(?:have|pay for) (?:the |your |an? )?(?P<value>free|basic|standard|pro|premium|business|enterprise|family|student|team|annual|monthly) (?:plan|subscription|tier|membership)\b", "medium", "choice"),
    rule(*_PLAN, r"(?:I|we) (?:have )?(?:upgraded|downgraded|switched|moved) (?:from (?:the )?(?P<old>\w+)(?: plan)? )?to (?:the |your |an? )?(?P<value>[A-Za-z][\w+]*) (?:plan|tier|subscription)\b", "medium", "choice"),
    rule("identity", "platform:{of}", "on {value}", "not on {value}", r"(?:I|we) (?:(?P<past>no longer )|(?P<neg>do not ))?(?:am on|are on|use|run|am running|am using|are using|have upgraded to|upgraded to) (?P<value>(?P<of>windows|macos|mac os|linux|ubuntu|debian|fedora|android|ios|ipados|chromeos)(?: \d[\w.]*)?)(?=$|,| and | with | on | at | now)", "medium", "choice"),
    # Before what has a number and may be a product.
    rule(*_USES, rf"{DO}(?:use|using|code in|program in|develop in|work in|write|build with|deploy to|deploy on|deploy with|test with|host on|host with|am coding in|am using|are using|work with|standardi[sz]ed on|rely on|lint with|format with|manage (?:dependencies|packages) with) (?P<value>{_LIST})", "medium", "choice", flags="many"),
    rule(*_PRODUCT, rf"(?:I|we) (?:(?P<past>no longer |used to )|(?P<neg>do not ))?(?:have|own) (?:an? |the |your |one of your )?(?P<value>(?-i:[A-Z])[\w-]*(?: (?-i:[A-Z0-9])[\w-]*){{0,2}} \w*\d[\w-]*(?: (?:pro|max|plus|ultra|mini|air|xl)){{0,2}}(?: (?:{_DEVICES}))?)(?=$|,| and | with | that | which | for | at | in )", "medium", "choice", needs="have"),
    rule(*_PRODUCT, rf"(?:I|we) (?:(?P<past>no longer |used to )|(?P<neg>do not ))?(?:own|use|am using|are using|have) (?:an? |the |your |one of your )(?:new |old )?(?P<value>(?:(?-i:[A-Z])[\w.+-]* ){{1,3}}(?:{_DEVICES}))\b", "medium", "choice"),
    rule(*_PRODUCT, rf"my (?P<of>{_DEVICES}|phone|device|car) is (?:an? |the )(?P<value>(?-i:[A-Z])[\w-]*(?: (?-i:[A-Z0-9])[\w-]*){{1,3}})(?=$|,| and | with | that | which )", "medium", "choice"),
    rule(*_ISSUE, rf"(?:my|our) (?P<value>(?:[\w-]+ ){{1,4}}?{_FAILING}\b.*)", "medium", "deed", needs="turn"),
    rule("event", "issue:{key}", "issue with {value}", "no issue with {value}", rf"(?:I|we) (?:have |am |are |keep )?(?:have|had|having|getting|get|keep getting|keep having|ran into|run into) (?:an? |some |the |this |constant |recurring )*(?:issues?|problems?|trouble|errors?) (?:(?:with (?:my|our|the|your) (?P<value>(?:[\w-]+ )?(?:{_DEVICES}|phone|app|account|order|login|password|subscription|delivery|payment|invoice|billing|website|software|update|wi-?fi|bluetooth)\b.*)))", "medium", "deed"),
    rule("event", "issue:{key}", "issue: cannot {value}", "issue: can {value}", r"(?:I|we) (?:can not|could not|am unable to|am not able to|are unable to) (?P<value>(?:log ?in|sign in|log on|log into|sign into|access my|reset my|connect (?:to|my|the)|install|update the|download the|open the app|sync|pair|cancel my|track my|find my order)\b.*)", "medium", "deed", needs="find open access login"),
    rule("identity", "reference:{of}", "{of} number: {value}", "{of} number is not {value}", r"my (?P<of>order|case|ticket|account|customer|policy|booking|serial) (?:number|id|reference) is (?P<neg>not )?(?P<value>[#\w-]*\d[\w-]*)", "medium", "choice"),
    rule(*_REMEDY, rf"(?:I|we) (?:would like|would prefer|want|would rather have|prefer|am asking for|request|expect|just want|need) (?P<neg>no )?(?:to (?:get|have|receive|talk to|speak to|speak with) )?(?P<value>{_REMEDIES})(?=$|,| (?:for|and|not|rather|instead|over|because|or)\b)", "medium", "choice", needs="back new"),
    rule(*_EXPERTISE, rf"{BE}(?:an? )?(?:total |complete |bit of an? )?(?P<value>(?:beginner|novice|newbie|expert)(?= (?:with|at|when it comes to) )|power user|tech[- ]savvy|technical(?: person)?|tech person|computer person|computer[- ]literate)(?: (?:with|at|when it comes to) (?:computers?|technology|tech|this(?: stuff)?|these things|software))?(?=$|,| so | and )", "medium", "choice"),
    rule(*_EXPERTISE, rf"{BE}(?:very |pretty |really |so )?(?P<value>good|bad|hopeless|terrible|comfortable) (?:with|at) (?:computers?|technology|tech)(?=$|,| so )", "medium", "choice"),
    # Learning.
    rule("identity", "grade", "grade: {value}", "grade is not {value}", r"I (?:am|will be) (?:(?P<neg>not )|now )?(?:in |an? |in my |starting |going into )(?:the )?(?P<value>(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth) (?:grade|form)|(?:first|second|third|fourth|final)[- ]year(?: [\w]+)? (?:student|undergraduate|undergrad|degree)|year \d{1,2}|(?:middle|high|secondary|grad|graduate|law|medical) school(?: freshman| sophomore| junior| senior| student)?|(?:college|university) (?:freshman|sophomore|junior|senior|student)|freshman|sophomore)(?=$|,| and | at | of | now)", "medium", "choice"),
    rule(*_LEVEL, rf"{BE}(?:an? |at an? |at )?(?P<value>{_LEVELS}|new|quite advanced|fairly advanced|rusty|ahead|behind)(?: (?:learner|student|level))? (?:in|at|with|to) (?P<of>{_STUDIED})\b", "medium", "choice"),
    rule(*_LEVEL, rf"my (?P<of>{_STUDIED})(?: level)? is (?P<neg>not )?(?:at )?(?:an? )?(?:about |around |roughly |very |pretty |quite )?(?P<value>A1|A2|B1|B2|C1|C2|basic|rusty|weak|strong|intermediate|advanced|beginner|fluent|good|bad|terrible)(?: level)?\b", "medium", "choice"),
    rule(*_STRUGGLES, r"(?:I|we) (?:(?P<past>no longer |used to )|(?P<neg>do not ))?(?:struggle|am struggling|have been struggling|have trouble|have difficulty|am having trouble|get stuck|get confused|am confused|am stuck) (?:with|on|about|by|understanding) (?P<value>(?!my|life|this|that|it|work|anxiety|depression)[\w' -]+)", "medium", "thing", flags="many"),
    rule(*_STRUGGLES, rf"(?:I|we) (?:do not|can not|never) (?:understand|get|grasp) (?P<value>(?:how )?(?:{_STUDIED}|fractions|decimals|percentages|recursion|pointers|closures|derivatives|integrals|limits|logarithms|vectors|matrices|probability|equations|proofs|word problems|conjugations?|the subjunctive|cases|tenses|photosynthesis|stoichiometry|momentum|inheritance|generics|lifetimes|async|decorators|monads)(?: [\w]+)?)$", "medium", "choice", needs="cases"),
    rule(*_LEARNER, rf"{BE}an? (?:very )?(?P<value>visual|auditory|kinesthetic|hands-on|verbal|slow|fast|quick|self-taught)(?: and \w+)? learner\b", "medium", "choice"),
    rule(*_LEARNS, r"(?:I|we) (?:learn|understand|understand things|remember|remember things|study)(?: things| stuff)? (?:best|better|most|faster|quicker|more easily) (?P<value>(?:by|with|from|through|when|visually|if|in)\b ?[^,;]{0,60})", "medium", "words", needs="best"),
    rule(*_LEARNS, r"(?:I|we) (?:do not|can not) learn (?:well|much|easily|anything) (?P<value>(?:by|with|from|through|when|in)\b [^,;]{2,60})", "medium", "words", flags="negative", needs="learn"),
    rule(*_STUDY, r"(?:I|we) (?:can )?(?:only )?(?:study|practi[cs]e|do homework|revise) (?P<value>(?:for )?(?:about |around )?(?:\d+|an?|one|two|three|half an) (?:minutes|mins|hours?) (?:a|per|every|each) (?:day|week|night|evening|morning)|in the (?:mornings?|evenings?|afternoons?)|on (?:weekends|weeknights|sundays|saturdays)|at night|after (?:work|school))\b", "medium", "choice"),
    rule(*_STUDY, r"(?:I|we) (?:only )?have (?:only |about |around )*(?P<value>(?:\d+|an?|one|two|three|half an) (?:minutes|mins|hours?) (?:a|per|every|each) (?:day|week|night|evening|morning)) (?:to|for) (?:study|studying|learn|learning|practi[cs]e|practi[cs]ing|homework|this)\b", "medium", "choice"),
    # Code.
    rule(*_USES, rf"(?:I|we) (?:would rather use|would prefer|prefer) (?P<value>(?:{_STACK})){_END}(?: (?:to|over|rather than|instead of) (?P<old>(?:{_STACK})){_END})?", "medium", "choice"),
    rule(*_USES, rf"{_OURS} (?:is|are|uses?|runs?) (?P<neg>not )?(?:(?:written|built|deployed|hosted|coded|tested|managed)(?: in| with| on| to| using)? |on |in |an? |all )?(?P<value>{_LIST})(?: (?:app|service|project|application|codebase|monorepo|package|cluster))?", "medium", "choice", flags="many"),
    rule("preference", "uses:{of}", "uses {value}", "does not use {value}", rf"(?:(?:I|we) (?:(?P<past>no longer )|(?P<neg>do not ))?(?:run|target|are on|am on|have upgraded to|upgraded to|have moved to|moved to|are still on)|{_OURS} (?:is on|runs? on|uses?|targets|is written in|runs)) (?P<value>(?P<of>{_VERSIONED}) v?\d[\w.]*)", "medium", "choice", needs="go"),
    rule("preference", "convention:indentation", "convention: {value}", "convention: no {value}", rf"{DO}(?:use|prefer|indent with|like|go with) (?P<value>(?:\d |two |four |eight )?(?:tabs|spaces)(?: for indentation| over \w+| instead of \w+)?)(?=$|,| in | and | for | not )", "medium", "choice"),
    rule(*_CONVENTION, rf"{DO}(?:use|using|prefer|follow|write|require|practi[cs]e|do|stick to|enforce|like|want) (?P<value>{_CONVENTIONS}){_END}", "medium", "choice"),
    rule("preference", "convention:{of}", "{of}: {value}", "{of} is not {value}", r"(?:my|our) (?P<of>style guide|(?:max(?:imum)? )?line length|coverage threshold|branch naming|commit style|naming convention|formatter|linter|test (?:framework|runner)|package manager|type checker|docstring style) is (?P<neg>not )?(?:now )?(?P<value>[^,;]{1,50})", "medium", "words"),
    rule(*_REQUIRES, rf"(?:(?:I|we) (?:must|need to|have to|are required to)|{_OURS} (?:must|needs to|has to)) (?P<value>(?:support|run on|work (?:on|with|offline|without)|stay compatible with|be compatible with|comply with|pass) (?:(?-i:[A-Z])|python|node|windows|linux|mac)[^,;]{{0,50}})", "high", "words", needs="support run offline comply pass compatible"),
)  # fmt: skip

ORDERS: tuple[Rule, ...] = (
    rule("preference", "instruction:{key}", "{value}", "not: {value}", rf"(?P<value>(?:always|never|do not ever) (?:{_IN_CODE})\b .+)", "high", "words", flags="told"),
    rule("preference", "instruction:{key}", "{value}", "not: {value}", rf"(?:from now on|by default|in this (?:repo|project|codebase)|whenever you \w+ code) (?P<value>(?:do not )?(?:{_IN_CODE})\b .+)", "high", "words", flags="told"),
    rule("preference", "instruction:{key}", "wants to be told: {value}", "not: {value}", r"(?:I|we) (?:want|would like|need) you to (?P<value>(?:always|never) .+)", "high", "words", flags="told", needs="always never"),
)  # fmt: skip
"""What somebody tells an assistant to do from now on. In talk between people the same words are a wish or an encouragement, so
these are read for templates alone that ask for them (`ProfileTemplate.instructions`)."""
