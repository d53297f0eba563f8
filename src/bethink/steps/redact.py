"""Secrets and personal data out of what is stored already, page after page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

from bethink.engine import Engine
from bethink.redaction import Redaction
from bethink.storage.base import Rewrite, Scope

__all__ = ["RedactReport", "redact"]


class RedactReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a redaction of stored things changed, or would change.

    Attributes:
        looked_at: how many things were read.
        messages, records, nodes, threads, checkpoints: how many have other words now; of threads, other metadata.
        dropped: checkpoints that went: their state held something and could not be written anew.
        receipts: of contexts, that went since they showed something of it; 0 in a dry run.
        kinds: placeholders by kind.
        dry_run: whether nothing was written.
        erased: as in `ForgetReceipt`.
    """

    looked_at: int = 0
    messages: int = 0
    records: int = 0
    nodes: int = 0
    threads: int = 0
    checkpoints: int = 0
    dropped: int = 0
    receipts: int = 0
    kinds: dict[str, int] = msgspec.field(default_factory=dict)
    dry_run: bool = False
    erased: bool = True

    @property
    def changed(self) -> int:
        """How many things were changed or went, receipts aside."""
        return self.messages + self.records + self.nodes + self.threads + self.checkpoints + self.dropped


_COUNTS = ("looked_at", "messages", "records", "nodes", "threads", "checkpoints", "dropped", "receipts")


def redact(
    engine: Engine,
    scope: Scope,
    redaction: Redaction,
    *,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> RedactReport:
    """See `Memory.redact`."""
    counted: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    request = Rewrite(scope=scope, by=redaction, dry=dry_run)
    with engine.telemetry.span("redact", namespace=scope.namespace) as span:
        while True:
            done = engine.rewrite(request)
            counted.update({name: getattr(done, name) for name in _COUNTS})
            kinds.update(done.kinds)
            if progress is not None:
                progress(done.looked_at)
            if done.next is None:
                break
            request = msgspec.structs.replace(request, after=done.next)
        blank = RedactReport(kinds=dict(sorted(kinds.items())), dry_run=dry_run, erased=done.erased)
        report = msgspec.structs.replace(blank, **counted)
        span.add(changed=report.changed)
    return report
