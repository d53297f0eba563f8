"""Everything bethink raises, in one tree.

    BethinkError
    ├─ InvalidInput          (ValueError)   what was given cannot be taken: field, what it is, the fix
    │  ├─ InvalidMessage                    a message, part, tool call or result
    │  ├─ InvalidNamespace                  a namespace or one of its segments
    │  ├─ ImportFailed                      a line or item of an import file: where, and why
    │  └─ BudgetError                       what must be in a context does not fit: what, and by how much
    ├─ NotFound              (LookupError)  nothing of that id in this namespace
    │  └─ Forgotten                         it was here; `forget` removed it or what it was made of
    ├─ Conflict                             somebody wrote first, or an id is used for something else
    │  └─ ThreadBusy                        it is somebody else's turn: until when
    ├─ PermissionDenied      (PermissionError) a view was not given what this needs: which verb, and where
    ├─ LimitExceeded                        a limit that the caller set: which, and by how much
    ├─ ProviderFailed                       what is not ours gave no answer that can be used: which, and why
    │  ├─ EmbeddingFailed                   an embedder
    │  └─ ModelFailed                       a language model
    ├─ MissingExtra          (ImportError)  an optional package is not installed: the install line
    └─ StoreError                           the database: cause on `__cause__`
       ├─ StoreBusy                         locked by another process for longer than the timeout
       ├─ StoreClosed                       used after `close()`
       ├─ SchemaError                       written by a newer version, or not a bethink database
       ├─ EmbedderMismatch                  holds vectors of another embedding model
       └─ CorruptStore                      damaged file or row

A message always names the field or the thing, what was found, and what to do about it. Values are named by their type and
size, never printed: an error ends up in logs, and a memory may not.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

__all__ = [
    "BethinkError",
    "BudgetError",
    "Conflict",
    "CorruptStore",
    "EmbedderMismatch",
    "EmbeddingFailed",
    "Forgotten",
    "ImportFailed",
    "InvalidInput",
    "InvalidMessage",
    "InvalidNamespace",
    "LimitExceeded",
    "MissingExtra",
    "ModelFailed",
    "NotFound",
    "PermissionDenied",
    "ProviderFailed",
    "SchemaError",
    "StoreBusy",
    "StoreClosed",
    "StoreError",
    "ThreadBusy",
]


class BethinkError(Exception):
    """Base of all errors that bethink raises on purpose."""


class InvalidInput(BethinkError, ValueError):
    """An argument cannot be taken; nothing was written."""

    def __init__(self, field: str, problem: str, fix: str = "") -> None:
        self.field = field
        self.problem = problem
        self.fix = fix
        super().__init__(f"{field}: {problem}" + (f" — {fix}" if fix else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.field, self.problem, self.fix)


class InvalidMessage(InvalidInput):
    """A message cannot be taken; nothing of its batch was written."""


class InvalidNamespace(InvalidInput):
    """A namespace cannot be taken."""


class ImportFailed(InvalidInput):
    """A line or item of an import file cannot be taken. `field` says where (`"line 12"`, `"[3].messages[0]"`)."""


class BudgetError(InvalidInput):
    """What must be in a context does not fit the size it was given.

    Attributes:
        budget: the size given, in `unit`.
        needed: what the parts need that may not be left out.
        parts: those parts, each `(name, size)`, largest first.
        field, unit: which size it is, and what it counts: the context's budget in tokens, or a knob of a policy.
    """

    def __init__(
        self, budget: int, needed: int, parts: tuple[tuple[str, int], ...], *, of: str = "budget", unit: str = "tokens"
    ) -> None:
        self.budget = budget
        self.needed = needed
        self.parts = parts
        self.unit = unit
        listed = ", ".join(f"{name} ({size:,})" for name, size in parts)
        otherwise = ", or shorten or unpin what is listed" if budget > 0 else ""
        super().__init__(
            of,
            f"{budget:,} {unit} are {needed - budget:,} too few: {listed} must be in the context",
            f"give at least {needed:,}{otherwise}",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _budget_error, (self.budget, self.needed, self.parts, self.field, self.unit)


def _budget_error(budget: int, needed: int, parts: tuple[tuple[str, int], ...], of: str, unit: str) -> BudgetError:
    return BudgetError(budget, needed, parts, of=of, unit=unit)


class NotFound(BethinkError, LookupError):
    """Nothing of that id in this namespace."""


class Forgotten(NotFound):
    """It was here once; `forget` removed it, or something it was made of."""


class Conflict(BethinkError):
    """Another writer was first, or an id already stands for something else. Nothing was written.

    Attributes:
        expected, actual: the tips that differed, or None where the conflict is about an id.
    """

    def __init__(self, message: str, *, expected: int | None = None, actual: int | None = None) -> None:
        self.expected = expected
        self.actual = actual
        super().__init__(message)


class ThreadBusy(Conflict):
    """Another holder has the turn of this thread. Nothing was written.

    Attributes:
        thread_id: whose turn it is about.
        until: when that turn ends by itself, unless it is renewed; it may be given back before.
        holder: the id of who has it.
    """

    def __init__(self, thread_id: str, until: datetime, holder: str) -> None:
        self.thread_id = thread_id
        self.until = until
        self.holder = holder
        super().__init__(
            f"it is somebody else's turn in thread {thread_id!r}, until {until.isoformat()} at the latest "
            "— wait longer, or try again then"
        )

    def __reduce__(self) -> tuple[type[ThreadBusy], tuple[str, datetime, str]]:
        return type(self), (self.thread_id, self.until, self.holder)


class PermissionDenied(BethinkError, PermissionError):
    """A view (`Memory.view`) was asked for what it was not given. Nothing was read or written.

    Attributes:
        verb: what was asked for.
        place: the namespace that it was about; () for the whole database.
        fix: what to do about it.
    """

    def __init__(self, verb: str, place: tuple[str, ...], fix: str) -> None:
        self.verb = verb
        self.place = place
        self.fix = fix
        where = f"in {'/'.join(place)}" if place else "in the whole database"
        super().__init__(f"{verb} {where}: this view may not — {fix}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.verb, self.place, self.fix)


class LimitExceeded(BethinkError):
    """A limit that the caller set (`Limits`) was reached. Nothing of what was asked for is stored.

    Attributes:
        limit: the field of `Limits`.
        most, found: the limit, and what it would be; both in `unit`.
    """

    def __init__(self, limit: str, most: float, found: float, unit: str, fix: str) -> None:
        self.limit = limit
        self.most = most
        self.found = found
        self.unit = unit
        self.fix = fix
        by = f"{found - most:,.10g} more than" if found > most else "all of"
        super().__init__(f"limits.{limit}: {found:,.10g} {unit}, {by} the {most:,.10g} allowed — {fix}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.limit, self.most, self.found, self.unit, self.fix)


class ProviderFailed(BethinkError):
    """What bethink asked for an answer, and does not own, gave none, or none that can be used.

    Never holds a text, a prompt, a key, or what a server answered, which may quote any of these.

    Attributes:
        name: of the embedder or the model.
        problem, fix: what was found, and what to do about it.
        status: of the HTTP answer, where there was one.
    """

    _sort = "provider"

    def __init__(self, name: str, problem: str, fix: str, *, status: int | None = None) -> None:
        self.name = name
        self.problem = problem
        self.fix = fix
        self.status = status
        super().__init__(f"{self._sort} {name}: {problem} — {fix}")

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), status=self.status), (self.name, self.problem, self.fix)


class EmbeddingFailed(ProviderFailed):
    """An embedder gave no vectors, or none that can be used. Nothing of the batch counts as embedded."""

    _sort = "embedder"


class ModelFailed(ProviderFailed):
    """A language model's server gave no reply, or none that can be read. Every step that asks one goes on without."""

    _sort = "language model"


class MissingExtra(BethinkError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f'{what} needs an optional package — pip install "bethink[{extra}]"')


class StoreError(BethinkError):
    """The database could not do it; the driver's error is the `__cause__`. Nothing was half-written."""


class StoreBusy(StoreError):
    """Another process held the database's write lock for longer than the timeout."""


class StoreClosed(StoreError):
    """The store was used after `close()`."""


class SchemaError(StoreError):
    """The file was written by a newer version of bethink, or is no bethink database."""


class EmbedderMismatch(StoreError):
    """The database holds vectors of another embedding model; the two would be mixed in one ranking. Nothing was changed.

    Attributes:
        bound, given: the fingerprints (`models.Fingerprint`) of the model whose vectors it holds, and of the one it was opened
            with; None where a store does not say.
    """

    def __init__(self, message: str, *, bound: Any = None, given: Any = None) -> None:
        self.bound = bound
        self.given = given
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _embedder_mismatch, (str(self), self.bound, self.given)


def _embedder_mismatch(message: str, bound: Any, given: Any) -> EmbedderMismatch:
    return EmbedderMismatch(message, bound=bound, given=given)


class CorruptStore(StoreError):
    """The file, or a row of it, is damaged."""
