"""One hop from an event loop to a worker thread, for the twins of synchronous objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from typing_extensions import ParamSpec

__all__ = ["hop"]

P = ParamSpec("P")
T = TypeVar("T")


async def hop(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run one synchronous call on a worker thread. Cancelling waits for it: the call is not abandoned half-way."""
    import anyio.to_thread

    return await anyio.to_thread.run_sync(partial(call, *args, **kwargs))
