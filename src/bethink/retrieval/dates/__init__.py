"""When: the times that a query or a message names, and how well a moment fits them.

    "What did she paint before the trip, last May?"   ─▶  time_cues   ─▶  cues: a stretch of time each, and how it was meant
    cues, the moment at which something was said      ─▶  time_score  ─▶  0 to 1

    stretches   whole days of the calendar, and how to reckon with them
    words       the vocabulary
    forms       patterns for a time, and their `readers`
    parts       "early", "the first week of", "two weeks before"
    phrases     a time with all that belongs to it; ranges
    cues        the same in UTC; events, which have no date
    score       how well a moment fits

What day it is, and when a day begins, is decided by the `now` that is passed in and its zone. Nothing here reads a clock.
"""

from bethink.retrieval.dates.cues import TimeCue, asks_when, said_times, time_cues
from bethink.retrieval.dates.phrases import Relation
from bethink.retrieval.dates.score import time_score
from bethink.retrieval.dates.stretches import Precision

__all__ = ["Precision", "Relation", "TimeCue", "asks_when", "said_times", "time_cues", "time_score"]
