"""The state of a thread's work: what matters of it without its transcript. Pure over values.

    messages ─▶ draw ─▶ entries ─┐
    set_state ─▶ set_by_hand ────┴▶ [storage] ─▶ add_up ─▶ State: goal, phase, decisions, facts, tasks, artifacts, questions

Entries (`records.StateEntry`) are only ever added, each once; what the state is follows from all of them (`add_up`): a newer
goal takes the place of the older, a decision that names what it replaces supersedes it, an answer closes its question. So two
writers cannot lose each other's entries, the history is there by itself, and whatever an entry had superseded is current
again when that entry is forgotten.

    draw     what messages state, by rule: `rules` are its patterns, `files` what tool calls write
    by_hand  what a caller says, checked
    adding   entries → `State`
    values   `State`, `Entry`, `Artifact`
"""
