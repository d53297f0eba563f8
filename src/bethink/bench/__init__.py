"""Benchmarks that anyone can run: `bethink bench NAME`.

    append      durable appends a second, beside other frameworks' stores and with many writers
    context     building the context of a long thread, and where the time goes
    lexical     recall by words of one tenant among many in a large file, and adding a record
    open        what a new process pays: import, opening, the first recall
    growth      what a turn and an append cost as a conversation grows
    insights    what is known of people, beside evidence and the observations of a data set
    year        what the end of a session costs as sessions add up
    facts       numbers, dates and names that survive folding
    locomo, longmemeval, beam
                how often recall finds the evidence of a question, beside others
    tokens      how close the built-in counter comes to a vocabulary

    measure.py        what they share: samples, interleaving, tables
    plot.py           a line chart as SVG
    talk.py           made-up conversation of any length, the same each time
    conversations.py  conversations out of published data sets
    retrieval/        what locomo, longmemeval and beam share
    known.py          what a memory knows, beside what a data set says
    survival.py       which facts a text still says

Figures are compared within one run only: disks and neighbours differ by the minute. So contestants take turns, call by call,
and a goal is a ratio. Each benchmark has `main(argv) -> int` and prints a table, or JSON with `--json`.
"""
