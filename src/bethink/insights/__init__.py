"""Step 4 of the way of a message: from what was said to what is known of somebody.

    messages ─▶ extract ─▶ reconcile ─▶ [storage] ─▶ retention ─▶ the profile
                by rule    same, newer,              score,        strengthened by citations,
                           or history                archive       brought within its bound by reflect

Every function here is pure over values: times are passed in, nothing is read or written. `english`, `rules` and `phrases` are
data.
"""
