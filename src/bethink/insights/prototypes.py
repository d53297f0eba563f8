"""Sentences by which people say something of themselves, by topic, and sentences by which they say nothing of the sort.

A user's sentence that no rule reads is held against them by meaning (see `unstated`). They are data: another sentence is
another line, after which `scripts/prototype_vectors.py` makes their vectors anew (`prototypes.npy`), and the thresholds below
are to be chosen again, on the development half of LoCoMo (`bethink bench insights`).

Thresholds are those of one vector space. In another, sentences are as near to each other as that model puts them.
"""

from __future__ import annotations

from typing import TypeAlias

from bethink.models import Fingerprint
from bethink.records import Topic

__all__ = ["CALIBRATED", "MARGIN", "PROTOTYPES", "SAY_NOTHING", "SOFTNESS", "VERSION", "Table", "calibrated"]

VERSION = 1
"""Goes up with every change of a sentence, a threshold or the way of comparing."""

CALIBRATED = Fingerprint(name="all-MiniLM-L6-v2-int8", dimension=384, probe="b82aacc4256a2dad034e2af430a8cf80")
"""The space whose thresholds these are."""

SOFTNESS = 0.1
"""How much the nearest prototype counts beyond the others: nearness is `SOFTNESS * ln(mean(e^(cosine / SOFTNESS)))`."""

MARGIN = 0.056
"""By how much a sentence is nearer to the prototypes than to what says nothing."""


def calibrated(space: Fingerprint) -> bool:
    """Whether the thresholds are those of a vector space."""
    return CALIBRATED.same_space(space)


Table: TypeAlias = dict[Topic, tuple[str, ...]]

PROTOTYPES: Table = {
    "identity": (
        "I was born and raised in a small town up north.",
        "I grew up abroad and came here as a teenager.",
        "I come from a big family with four siblings.",
        "My roots are in the country where my grandparents came from.",
        "I have been a single parent for three years.",
        "We have been married for five years.",
        "I came out to my family a few years ago.",
        "I lived in the city before I had children.",
        "My company sells tools for gardeners.",
        "I have worked in a bank since I left school.",
        "I was raised by my aunt after my parents died.",
        "My day job is fixing bicycles.",
        "I served in the army for four years.",
        "I am in my last year of school.",
        "I studied law before I became a baker.",
        "I run a small business with my brother.",
    ),
    "preference": (
        "I garden to calm down after a long day.",
        "My favourite thing to do on weekends is a long walk in the woods.",
        "I never say no to a fresh cup of coffee by the sea.",
        "My way to relax is baking bread.",
        "My escape is reading mystery novels.",
        "I always listen to jazz when I cook.",
        "My guilty pleasure is watching cooking shows.",
        "My favourite book is one from my childhood.",
        "I go for a run in the park to clear my head.",
        "My kids are crazy about trains.",
        "We usually go to the mountains every summer.",
        "I spend hours in museums.",
        "I collect old coins and stamps.",
        "We have a film night every Friday.",
        "I always have time for a game of chess.",
    ),
    "constraint": (
        "My doctor told me to stay away from salt.",
        "I get terrible headaches when I drink wine.",
        "My stomach does not take milk well.",
        "I have to be home by six because of the children.",
        "My knee hurts when I run for too long.",
        "I am not supposed to lift anything heavy after the operation.",
        "I swell up and my eyes itch when there is pollen.",
        "We only have a small budget for the rent.",
        "My religion does not allow me to eat pork.",
        "I have been struggling with my health since last winter.",
        "My back has become a problem lately.",
        "I have to work nights this month.",
    ),
    "goal": (
        "I want to have a restaurant of my own one day.",
        "My dream has always been to sail around the world.",
        "I have been looking into becoming a teacher.",
        "My hope is to get a scholarship and study abroad.",
        "I want to write a book about my life.",
        "I want to help people in my neighbourhood.",
        "I am trying to lose weight and to get healthier.",
        "We want to have a house with a garden one day.",
        "I have been working hard so that I can open my own practice.",
        "I want to start a campaign for better schools.",
        "I am ready to compete at the next championship.",
        "I need to get better at speaking in public.",
    ),
    "plan": (
        "We are off to the coast with the children next month.",
        "I have a big game on Saturday.",
        "We have tickets for a concert on Friday evening.",
        "My interview is next Tuesday.",
        "I am getting ready for a race at the end of the month.",
        "We will be travelling around the country this summer.",
        "My exhibition opens tomorrow.",
        "I have been preparing a proposal that I will send to investors.",
        "My friends and I are throwing a party next weekend.",
        "I will visit my parents over the holidays.",
        "I have a meeting with the manager next week.",
        "I am taking the children to the zoo on Sunday.",
    ),
    "decision": (
        "We decided after a lot of thinking to keep the old house.",
        "I made up my mind to leave my job.",
        "I took the offer from the other company in the end.",
        "I gave up my job to start a business of my own.",
        "We agreed that the wedding will be in spring.",
        "I turned down the promotion.",
        "I will cycle to work from now on.",
        "I started going to a different gym.",
        "I have begun taking classes in the evening.",
        "I changed my diet and began exercising.",
    ),
    "relation": (
        "My husband and I have two small children.",
        "My mother taught me how to cook when I was young.",
        "My grandmother gave me a ring when I was a child.",
        "My best friend since school lives next door.",
        "My dog is an old terrier who loves to swim.",
        "My brother is getting married in June.",
        "My old teammates are still my closest friends.",
        "My cat sleeps on my bed.",
        "My sister has been there for me through all of it.",
        "We are a family of five.",
        "My mentor at work has taught me everything.",
        "My father passed away last year.",
        "I met my wife at university.",
        "I have known my neighbour since we were children.",
    ),
    "event": (
        "We went to the lake with the whole family last weekend.",
        "I gave a talk at my daughter's school yesterday.",
        "I just lost my job at the office.",
        "I finally finished my exams last week.",
        "My son had an accident, but he is fine now.",
        "I won my first match last Friday.",
        "We had a picnic in the park and played games all day.",
        "I got a new bicycle two weeks ago.",
        "My car broke down on the way to work yesterday.",
        "I made a cake for the birthday of a colleague.",
        "I met some great people at a conference in the capital.",
        "We took the children to the beach, and they built a castle.",
        "I built a shelf for the kitchen last month.",
        "I got a letter from the university.",
        "My roof was damaged by the storm last night.",
        "I had a check-up with my doctor a few days ago.",
        "We raised money for the hospital with a bake sale.",
        "I signed a contract with a new client.",
        "I joined a club for people who read.",
        "I hurt my ankle at training last week.",
        "I visited my aunt in hospital and talked to the nurses.",
        "We walked around the old town and found a lovely café.",
        "I volunteered at the food bank on Saturday.",
        "I watched a film about the war and it made me think.",
    ),
    "skill": (
        "I have been playing the flute since I was eight.",
        "I have been taking photographs for about seven years.",
        "My background is in software and databases.",
        "I taught myself how to fix engines.",
        "I learned sign language a few years ago.",
        "I speak three languages at home.",
        "I have been coaching the team for years.",
        "I know how to cook a proper curry from scratch.",
        "I have ten years of experience as a nurse.",
        "I write songs in my free time.",
        "I took singing lessons for many years.",
    ),
}
"""All begin with "I", "we" or "my", since those are what is held against them; the verb's tense counts (see `turned`)."""

SAY_NOTHING: tuple[str, ...] = (
    # Of whoever is spoken to.
    "I am so proud of you!",
    "I am so happy for you.",
    "I totally agree with you.",
    "I am sorry to hear that.",
    "I am glad that you like it.",
    "I hope you have a great time.",
    "Let me know how it goes.",
    "Thank you so much for your kind words, it means a lot to me.",
    "I appreciate your support.",
    "I am here for you whenever you need me.",
    "I can not wait to hear all about it.",
    "I would love to see it some time.",
    "I know what you mean.",
    "I see what you are saying.",
    "That sounds great, I am excited for you.",
    "I can imagine how you feel.",
    "I would be happy to help you.",
    "You inspire me so much.",
    "Your family looks so happy in the photo.",
    "I love that picture of yours.",
    "I know you will do great.",
    "You can do it, I believe in you.",
    "I am curious how you did that.",
    "I would recommend it to everybody.",
    # Feelings and sentiments of anybody.
    "It gives me hope and makes me so happy.",
    "It makes me feel at peace.",
    "It reminds me of how important it is to keep going.",
    "It was really hard, but it was worth it.",
    "I felt so much joy and gratitude.",
    "I am really thankful for all the love around me.",
    "It means everything to me.",
    "I was blown away by it.",
    "We had such a great time together.",
    "It was so much fun, and I will never forget it.",
    "I believe that we can all make a difference.",
    "I think it is important to be yourself.",
    "I do not know what I would do without them.",
    "They motivate me and give me strength.",
    "I am lucky to have them in my life.",
    "I could not have done it without you.",
    "I have to admit that it was tough.",
    "I am trying to stay positive.",
    "It helps me to express my feelings and to grow.",
    "I am excited to see what comes next.",
    # Small talk, and what is said about the talk.
    "I will keep that in mind, thanks for the tip.",
    "I will check it out, thanks.",
    "I am doing well, how about you?",
    "Let us talk again soon.",
    "Let us do that together.",
    "I have been busy lately.",
    "We should catch up some time.",
    "I think that would be a good idea.",
    "Here is a picture that I took.",
    "Take care of yourself, and see you soon.",
    # What somebody wants of an assistant.
    "I need help with my code.",
    "I want you to write a function that sorts a list.",
    "I am trying to find out why this does not work.",
    "I am getting an error when I run the script.",
    "I have a question about the second step.",
    "I want to know how to calculate the area of a triangle.",
    "I am not sure how to do this, please explain it to me.",
    "I tried what you suggested, and the test still fails.",
    "I have this table with three columns.",
    "I want to add a button to the page.",
    "I would like a summary of the text.",
    "We need to handle the case where the input is empty.",
)
