"""The defences by name, each with what a naive memory does in its place. Nothing else can switch them off."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

import msgspec

from bethink.context import items
from bethink.insights import extract
from bethink.insights.citations import cited
from bethink.messages import Message
from bethink.storage.base import Cite, Scope

__all__ = ["DEFENCES", "without"]


def _unescaped(text: str) -> str:
    return text


def _unlabelled(text: str, *_: object) -> str:
    return f"- {items.plain(text)}"


_memory_message = items.memory_message


def _as_system(block: Sequence[Any]) -> Message | None:
    message = _memory_message(block)
    return None if message is None else msgspec.structs.replace(message, role="system")


_extract = extract.extract


def _from_anybody(messages: Sequence[Message], **options: Any) -> Any:
    return _extract([msgspec.structs.replace(each, role="user", external=False) for each in messages], **options)


def _any_mark(engine: Any, namespace: Any, _: str, messages: Sequence[Message]) -> tuple[Cite, ...]:
    known = {items.handle(each.record.id): each.record.id for each in engine.records(Scope(namespace), current=False)}
    found = [(record, each.created_at) for each in messages for record in cited(each.text, known)]
    return tuple(Cite(record, at) for record, at in found if at is not None)


# By the names of their modules: some packages export a function of a module's name.
_PLACES: dict[str, tuple[tuple[str, str, Callable[..., Any]], ...]] = {
    "escaping": (("context.items", "plain", _unescaped), ("context.state_block", "plain", _unescaped)),
    "labels": (("context.items", "line_from", _unlabelled), ("context.lines", "line_from", _unlabelled)),
    "the role of the block": (("context.render", "memory_message", _as_system),),
    "who is believed": (("insights.extract", "extract", _from_anybody),),
    "own words": (("insights.clauses", "own_words", _unescaped),),
    "marks": (("steps.derive", "citations", _any_mark),),
    "tenants": (),
}

DEFENCES = tuple(_PLACES)
"""By name. "tenants" is whether a user has a namespace of his own: without, everybody shares one."""


@contextmanager
def without(names: Sequence[str]) -> Iterator[None]:
    """Memories that are made and used within have naive ways in the place of these."""
    with ExitStack() as stack:
        for name in names:
            for module, attribute, naive in _PLACES[name]:
                stack.enter_context(patch.object(import_module(f"bethink.{module}"), attribute, naive))
        yield
