"""What the verbs of `Memory` do, one file each: fetch values through the waist, hand them to pure steps, store what comes out.

    append     formats.from_any -> terms -> store.append
    derive     store.read -> insights.extract -> reconcile -> store.put, with the thread's cursor
    reflect    derive -> session_summary, unstated, archive -> store.put, with the thread's cursor
    unstated   insights.unstated.sayings -> the embedder -> meant
    recall     embed what waits -> answer
    answer     store.search -> retrieval.rank -> grouping -> packing
    why        answer -> retrieval.why
    view       store.read -> compaction.plan -> fold -> store.fold
    refine     store.read -> compaction.due -> summarise_with_model -> the model -> store.refine
    background   refine, by itself after a fold
    summaries  store.read; expand: store.get -> store.read
    context    view -> derive -> recall -> context.compose -> render -> store.put of the receipt
    items      store.keep_items, list_items; search: store.search -> retrieval.rank -> list_items
    replay     store.get -> context.rebuild

Nothing is decided here: a rule belongs to a pure step, a guarantee to the store.
"""
