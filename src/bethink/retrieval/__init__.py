"""Step 6: from a question to the messages and records that answer it.

    terms    text → terms, the same for every backend, on the way in and on the way out
    dates    the times that a text names → stretches of the calendar, and how well a moment fits them
    names    of the speakers whom a query names
    ranker   the parameters of ranking
    rank     candidates and their statistics → hits, each with its scores
    legs     the words and the meaning of a candidate and of the messages around it, as numbers
    form     what the form of a text tells
    maxsim   query and candidate compared token by token; rerank: a learned correction (options)
    passages a long text by its best passage
    recall   the order of it: a search, and its answer
    grouping hits as turns and sessions
    packing  what of it fits into a budget
    why      a hit explained, and what became of anything else

A store finds candidates (`storage.base.Search`); everything that decides their order is here and pure.
"""
