"""Write `src/bethink/models/words.txt`: the words and runs of punctuation that are one token of cl100k_base and of o200k_base.

    python scripts/token_words.py

Needs the extra "tokens". Which words: those among the first 60,000 tokens of cl100k_base, since its order is one of frequency;
of the fragments that are no word by themselves, the first 10,000; all runs of punctuation.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from pathlib import Path

from bethink.models.exact import vocabulary

WORDS, FRAGMENTS = 60_000, 10_000
FORMS = {"a": str.lower, "A": str.capitalize, "AA": str.upper}
HEAD = (
    "# Words and runs of punctuation that are one token of cl100k_base and of o200k_base. Written by scripts/token_words.py.\n"
)


def main() -> None:
    ranks, others = vocabulary("cl100k_base"), vocabulary("o200k_base")
    common = {token.decode("ascii"): rank for token, rank in ranks.items() if token.isascii() and token in others}
    spaced = {token[1:]: rank for token, rank in common.items() if re.fullmatch(" [A-Za-z]+", token)}
    bare = {token: rank for token, rank in common.items() if re.fullmatch("[A-Za-z]+", token)}
    words = {word.lower() for word, rank in spaced.items() if rank < WORDS}
    fragments = {word.lower() for word, rank in bare.items() if rank < FRAGMENTS}
    forms: dict[str, list[str]] = defaultdict(list)
    for word in words | fragments:
        # A form that is the same as one before it (a single letter in capitals) is not said twice.
        shapes = {shape(word): form for form, shape in reversed(FORMS.items())}
        names = ["_" + form for shaped, form in shapes.items() if shaped in spaced]
        names += [form for shaped, form in shapes.items() if shaped in bare]
        if names:
            forms["|".join(sorted(names))].append(word)
    for token in common:
        if re.fullmatch(r" ?[!-/:-@\[-`{-~]+", token) and len(token.strip()) > 1:
            forms["_=" if token[0] == " " else "="].append(token.strip())
    lines = [
        f"{form} {line}\n"
        for form, of_form in sorted(forms.items())
        for line in textwrap.wrap(" ".join(sorted(of_form)), 120, break_long_words=False, break_on_hyphens=False)
    ]
    target = Path(__file__).parents[1] / "src" / "bethink" / "models" / "words.txt"
    target.write_text(HEAD + "".join(lines), "ascii")


if __name__ == "__main__":
    main()
