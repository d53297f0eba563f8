"""Step 3 of the way of a message: what of a thread folds, and what is left of it. Pure over values.

    plan         groups and a budget → which groups fold, and why
    fold         those groups → summary nodes, level over level
    extractive   a span → the lines that say most, word for word
       statements   sentences as statements: what replaces what
       facts        numbers, dates, names, identifiers
       sentences    where sentences begin and end
    model_summary   the same span, asked of a language model → lines, or why there are none
       prompts      what it is asked
       model_reply  what its reply is worth
       wanted       the facts that must be in it
       languages    which language it is in
    attempts     what came of asking, and when to ask again
    due          which nodes a model is asked for now

Folding removes nothing: the messages stay where they are, and a node says exactly which of them it stands for.
"""
