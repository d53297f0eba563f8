"""The names that users hold: all there, sorted, and the same with and without an event loop."""

from __future__ import annotations

import inspect
import re
from importlib.metadata import version
from importlib.resources import files

import pytest

import bethink
from bethink import AsyncBoard, AsyncItems, AsyncMemory, AsyncThread, AsyncTurn, Board, Items, Memory, Thread, Turn

TWINS = [
    pytest.param(Memory, AsyncMemory, id="Memory"),
    pytest.param(Thread, AsyncThread, id="Thread"),
    pytest.param(Turn, AsyncTurn, id="Turn"),
    pytest.param(Items, AsyncItems, id="Items"),
    pytest.param(Board, AsyncBoard, id="Board"),
]

# These touch no database: they only name something in it, and so need no await.
NOT_AWAITED = {
    "Memory": {"scope", "thread", "user", "view"},
    "Thread": {"turn"},
    "Turn": set[str](),
    "Items": set[str](),
    "Board": set[str](),
}

COUNTERPART = {"__enter__": "__aenter__", "__exit__": "__aexit__"}


def public_methods(cls: type) -> dict[str, object]:
    dunders = {"__init__", *COUNTERPART, *COUNTERPART.values()}
    parts = {name: value for part in cls.__mro__[-2::-1] for name, value in vars(part).items()}
    return {name: value for name, value in parts.items() if not name.startswith("_") or name in dunders}


def as_sync(annotation: object) -> str:
    """An annotation with the asynchronous names replaced by their synchronous ones."""
    return re.sub(r"\bAsync(Board|Items|Memory|Thread|Turn|Iterator|GivenModel)\b", r"\1", str(annotation))


def shape(method: object) -> list[tuple[str, object, object, str]]:
    if isinstance(method, property):
        method = method.fget
    if isinstance(method, classmethod | staticmethod):
        method = method.__func__
    assert inspect.isfunction(method)
    signature = inspect.signature(method)
    parameters = [(p.name, p.kind, p.default, as_sync(p.annotation)) for p in signature.parameters.values()]
    return [*parameters, ("return", None, None, as_sync(signature.return_annotation))]


def test_public_names_are_sorted_and_named_once() -> None:
    assert bethink.__all__ == sorted(set(bethink.__all__))


@pytest.mark.parametrize("name", bethink.__all__)
def test_a_public_name_is_there_and_listed_where_it_lives(name: str) -> None:
    value = getattr(bethink, name)
    assert value.__module__.startswith("bethink.")
    assert name in dir(bethink)


def test_nothing_public_is_left_out_of_the_list() -> None:
    assert set(bethink._HOME_OF) == set(bethink.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = bethink.Nothing


def test_the_version_is_the_installed_one() -> None:
    assert bethink.__version__ == version("bethink")


def test_the_package_says_that_it_is_typed() -> None:
    assert files("bethink").joinpath("py.typed").is_file()


@pytest.mark.parametrize(("sync", "twin"), TWINS)
def test_the_async_twin_has_the_same_methods(sync: type, twin: type) -> None:
    expected = {COUNTERPART.get(name, name) for name in public_methods(sync)}
    assert set(public_methods(twin)) == expected


@pytest.mark.parametrize(("sync", "twin"), TWINS)
def test_the_async_twin_takes_and_returns_the_same(sync: type, twin: type) -> None:
    differing = {}
    for name, method in public_methods(sync).items():
        if name == "__init__" and sync is not Memory:
            continue  # made by Memory.thread and Thread.turn, not by users
        other = public_methods(twin)[COUNTERPART.get(name, name)]
        if shape(method) != shape(other):
            differing[name] = (shape(method), shape(other))
    assert differing == {}


@pytest.mark.parametrize(("sync", "twin"), TWINS)
def test_whatever_touches_the_database_is_awaited(sync: type, twin: type) -> None:
    plain = {
        name
        for name, method in public_methods(twin).items()
        if inspect.isfunction(method)
        and not (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method))
        and name != "__init__"
    }
    assert plain == NOT_AWAITED[sync.__name__]
