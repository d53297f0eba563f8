"""Benchmarks that anyone can run: `bethink bench NAME`.

    append      durable appends a second, beside other frameworks' stores and with many writers
    context     building the context of a long thread, and where the time goes
    open        what a new process pays: import, opening, the first recall
    locomo      how often recall finds the evidence of a question
    measure.py  what they share: samples, interleaving, tables
    talk.py     made-up conversation of any length, the same each time

Figures are compared within one run only: disks and neighbours differ by the minute. So contestants take turns, call by call,
and a goal is a ratio. Each benchmark has `main(argv) -> int` and prints a table, or JSON with `--json`.
"""
