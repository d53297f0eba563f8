"""What an import yields, and the rules that hold for every format.

A format's reader turns each item of a file into a draft: a message, and where in the file it stood. `assemble` makes a
`Conversation` of the drafts of one thread: it gives ids and times that are the same on every run (so that importing a file
twice adds nothing) and leaves out, with a problem reported, what could not be appended to a thread.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any, Literal, TypeAlias

import msgspec

from bethink.errors import ImportFailed, InvalidInput, InvalidMessage
from bethink.formats.content import usable_name
from bethink.ids import derived_id
from bethink.messages import Message, canonical_json, checked, same_message
from bethink.threads import CallState, place
from bethink.values import Namespace, check_id

__all__ = [
    "Conversation",
    "Draft",
    "Items",
    "OnError",
    "Problems",
    "assemble",
    "join",
    "listed",
    "name_in",
    "need",
    "thread_name",
]

OnError: TypeAlias = Literal["stop", "skip"]

# The top-level items of a file, each with where it stands: ("line 12", ...), ("[3]", ...), or ("", ...) for a file of one.
Items: TypeAlias = Iterable[tuple[str, Any]]

# The id of a message carries a time. One that is not dated carries this, so that its id does not depend on when it is imported.
_UNDATED = datetime(1970, 1, 1, tzinfo=timezone.utc)

_LINE = re.compile(r"^(line \d+)\.")


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """One thread of a file.

    Attributes:
        thread_id: the file's own id for it where there is one, else made of the file's name.
        messages: in order, each with an id. `created_at` is None only where the file dates no message of the thread.
        title: what the file calls it.
        user: whose it is, where the file says so.
        namespace: where it was, in a file that bethink wrote; else empty.
        settled: insights have been drawn from all of it; they are among the records of the same file.
        metadata: for the thread.
    """

    thread_id: str
    messages: tuple[Message, ...]
    title: str = ""
    user: str | None = None
    namespace: Namespace = ()
    settled: bool = False
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)


class Draft(msgspec.Struct, frozen=True):
    """A message as read, and where it was."""

    where: str
    message: Message


class Problems:
    """What to do about an item that cannot be taken: raise, or note it down and go on."""

    def __init__(self, on_error: OnError = "stop", found: list[ImportFailed] | None = None) -> None:
        self.on_error = on_error
        self.found = [] if found is None else found

    def report(self, problem: ImportFailed) -> None:
        """Raise the problem, or note it down."""
        if self.on_error == "stop":
            raise problem
        self.found.append(problem)

    @contextmanager
    def at(self, where: str) -> Iterator[None]:
        """Report what is refused within. The rest of the block is left out, what comes after it goes on."""
        try:
            yield
        except InvalidInput as error:
            self.report(ImportFailed(join(where, error.field), error.problem, error.fix))


def join(where: str, field: str) -> str:
    """Where a field is: `"line 3: title"`, `"[3].title"`. A field that says already where it is stays as it is."""
    if where and not field.startswith(where):
        field = f"{where}.{field}"
    return _LINE.sub(r"\1: ", field).lstrip(".") or "file"


def assemble(
    source: str,
    thread_id: str,
    drafts: Iterable[Draft],
    problems: Problems,
    **fields: Any,
) -> Conversation:
    """The conversation of these drafts, in their order.

    A message without a time takes that of the message before it, at the start that of the first that has one. A message
    without an id gets one made of its time, the format (`source`), the thread, its position and its content. An id that comes
    again with the same content is left out in silence; with other content it is a problem. So is a result without a call.
    """
    given = list(drafts)
    times = _times([draft.message.created_at for draft in given])
    kept: list[Message] = []
    by_id: dict[str, Message] = {}
    calls: dict[str, CallState] = {}
    for position, (draft, at) in enumerate(zip(given, times, strict=True)):
        with problems.at(draft.where):
            message = checked(msgspec.structs.replace(draft.message, created_at=at), draft.where)
            if not message.id:
                digest = hashlib.sha256(canonical_json(message)).hexdigest()
                made = derived_id(at or _UNDATED, source, thread_id, str(position), digest)
                message = msgspec.structs.replace(message, id=made)
            if message.id in by_id:
                if not same_message(message, by_id[message.id]):
                    raise ImportFailed(join(draft.where, "id"), "the id of another message of this thread", "give each its own")
                continue
            _check_place(message, kept, calls, draft.where)
            by_id[message.id] = message
            kept.append(message)
    return Conversation(thread_id=thread_id, messages=tuple(kept), **fields)


def _times(given: list[datetime | None]) -> list[datetime | None]:
    last = next((at for at in given if at is not None), None)
    times = []
    for at in given:
        last = at or last
        times.append(last)
    return times


def _check_place(message: Message, before: list[Message], calls: dict[str, CallState], where: str) -> None:
    try:
        placed = place([message], tip=len(before), last=None, calls=calls)
    except InvalidMessage as error:
        raise ImportFailed(join(where, error.field.removeprefix("messages[0].")), error.problem, error.fix) from None
    calls.update(placed.calls)


# -- reading fields -------------------------------------------------------------------------------------------------------


def need(data: object, key: str, kind: type | tuple[type, ...], where: str) -> Any:
    """`data[key]`, which must be there and of that type.

    Raises:
        ImportFailed: naming the field, the type found, and the fix.
    """
    if not isinstance(data, Mapping):
        raise ImportFailed(where or "file", f"a {type(data).__name__}", "an object belongs here")
    value = data.get(key)
    if not isinstance(value, kind):
        names = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        found = f"a {type(value).__name__}" if key in data else "missing"
        raise ImportFailed(join(where, key), found, f"a {names} belongs here")
    return value


def listed(data: Mapping[str, Any], key: str, where: str) -> list[Any]:
    """The list at `data[key]`; an empty one if it is null or not there."""
    found: list[Any] = [] if data.get(key) is None else need(data, key, list, where)
    return found


def name_in(data: Mapping[str, Any], *keys: str) -> str | None:
    """The first of these fields that can serve as a name or id."""
    return next((name for key in keys if (name := usable_name(data.get(key)))), None)


def thread_name(name: str, index: int, where: str) -> str:
    """A thread id for the item at `index` of a file: the file's name, with a number if the file holds a list."""
    return check_id(f"{name}/{index + 1}" if where else name, "file name", ImportFailed)
