"""What is stored already, in other words: secrets and personal data taken out of it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bethink.redaction import Redaction
from bethink.storage.base.scope import Scope

__all__ = ["Rewrite", "Rewritten", "rewritten"]


class Rewrite(msgspec.Struct, frozen=True, kw_only=True):
    """Put what a redaction makes of it in the place of what is stored, some of it at a time.

    Contract:
        - one call looks at some `limit` things after `after`, in one transaction, and says where to go on; the last call says
          None. What is written meanwhile may be met or not.
        - a message has other words under the same id, seq, group and time, and what it came as is redacted likewise. Its unit
          goes and it gets another, which waits for its vector. A source that rests on it no longer says where in it the words
          stand.
        - so do records (with their unit), the lines of nodes, and the metadata of threads. Ids stay, those made from words too.
        - a checkpoint has its label, view and metadata redacted, and its state if that is JSON. With a state of another format
          that holds something to redact, in whatever it has of UTF-8, the checkpoint goes, as with `Prune`: nobody here can
          write it anew. Copies of forks that share a state share what becomes of it.
        - with what changes goes every receipt that shows it, and those of a thread of which a message changed: the words that
          were asked there are in their digests. With a receipt goes its usage.
        - what does not change is not touched: doing it again changes nothing.
        - when the last call returns, the bytes that were replaced are in no page of the files, as after `Forget`.
        - `dry`: nothing is written, and the receipts that would go are not counted.
    """

    scope: Scope
    by: Redaction
    after: str | None = None
    limit: int = 200
    dry: bool = False


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """What one call of `Rewrite` changed.

    Attributes:
        looked_at: how many things it has read.
        messages, records, nodes, threads, checkpoints: how many were changed.
        receipts, dropped: how many receipts, and checkpoints whose state could not be written anew, went.
        kinds: how many placeholders of each kind there are more.
        next: where to go on; None at the end.
        erased: as in `ForgetReceipt`; only the last call cleans.
    """

    looked_at: int = 0
    messages: int = 0
    records: int = 0
    nodes: int = 0
    threads: int = 0
    checkpoints: int = 0
    receipts: int = 0
    dropped: int = 0
    kinds: dict[str, int] = msgspec.field(default_factory=dict)
    next: str | None = None
    erased: bool = True

    @property
    def changed(self) -> int:
        """How many things were changed or went, receipts aside."""
        return self.messages + self.records + self.nodes + self.threads + self.checkpoints + self.dropped


def rewritten(
    counted: Mapping[str, int], kinds: Mapping[str, int], *, looked_at: int, going_on: str | None = None
) -> Rewritten:
    """What was changed, as a store counts it: how many, by the names of the attributes above."""
    done = Rewritten(looked_at=looked_at, kinds=dict(sorted(kinds.items())), next=going_on)
    return msgspec.structs.replace(done, **counted)
