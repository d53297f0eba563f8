"""What a view may do: namespaces to read, namespaces to write, and the name it writes under. Pure values.

    Memory.view(read=..., write=...) ─▶ Rights ─▶ storage.guarded (asks `covers` before every verb)

A right over a namespace is one over all below it, as whole segments match: ("team",) covers ("team", "shared") and never
("teams",). What may be written may be read. Rights only ever narrow: a view of a view has no more than the one it is made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from bethink.errors import InvalidInput, PermissionDenied
from bethink.values import Namespace, check_id, check_namespace

__all__ = ["Rights", "check_agent", "places_below"]

_VOICES = frozenset(("user", "assistant", "tool", "external", "system", "developer", "memory"))
"""Names that say who speaks in a context. An agent of that name would pass for somebody else."""
_MARKS = frozenset("[]()<>,;:")
"""What stands between the parts of a line."""


class Rights(msgspec.Struct, frozen=True, kw_only=True):
    """What a view was given. None of the places lies within another of the same sort.

    Attributes:
        reads: may be read, with all below; what `writes` has is among it.
        writes: may be written, with all below.
        agent: whose word what is written is; "" for nobody's.
    """

    reads: tuple[Namespace, ...] = ()
    writes: tuple[Namespace, ...] = ()
    agent: str = ""

    @classmethod
    def of(cls, read: Iterable[Namespace], write: Iterable[Namespace], agent: str) -> Rights:
        """Rights over some namespaces: what may be written may be read, and each place stands once."""
        writes = _outermost(write)
        return cls(reads=_outermost((*read, *writes)), writes=writes, agent=agent)

    def may_read(self, namespace: Namespace) -> bool:
        """Whether it and all below it may be read."""
        return any(_covers(place, namespace) for place in self.reads)

    def may_write(self, namespace: Namespace) -> bool:
        """Whether it and all below it may be written."""
        return any(_covers(place, namespace) for place in self.writes)

    def readable_below(self, namespace: Namespace) -> tuple[Namespace, ...]:
        """What may be read at or below a namespace, in places none of which lies within another, sorted."""
        if self.may_read(namespace):
            return (namespace,)
        return tuple([place for place in self.reads if _covers(namespace, place)])

    def narrowed(self, other: Rights) -> Rights:
        """`other`, if it is no more than this.

        Raises:
            PermissionDenied: it is more: a place that is not among these, or the name of another agent.
        """
        for verb, asked, may in (("write", other.writes, self.may_write), ("read", other.reads, self.may_read)):
            for place in asked:
                if not may(place):
                    raise PermissionDenied(verb, place, "a view of a view has what that one has, or less")
        agent = other.agent or self.agent
        if self.agent and agent != self.agent:
            raise PermissionDenied(
                "view", other.reads[0] if other.reads else (), f"it speaks as {self.agent!r} and nobody else"
            )
        return msgspec.structs.replace(other, agent=agent)


def places_below(namespace: Namespace, given: object, field: str) -> tuple[Namespace, ...]:
    """Places below a namespace as a caller names them: each one segment, or a sequence of segments; () is the namespace itself.

    Raises:
        InvalidInput: they are no list of such, or a segment is none.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        fix = 'pass a list of places below this namespace, such as ["shared", ("agents", "writer")]'
        raise InvalidInput(field, f"a {type(given).__name__}", fix)
    return tuple([_place(namespace, each, f"{field}[{index}]") for index, each in enumerate(given)])


def _place(namespace: Namespace, given: object, field: str) -> Namespace:
    if isinstance(given, str):
        return check_namespace((*namespace, check_id(given, field)))
    if not isinstance(given, Sequence):
        raise InvalidInput(field, f"a {type(given).__name__}", "pass a segment, or a tuple of segments")
    return check_namespace((*namespace, *[check_id(segment, field) for segment in given]))


def check_agent(given: object) -> str:
    """The name of an agent as lines show it; "" for none.

    Raises:
        InvalidInput: no name, one of somebody who speaks in contexts, or one that would not stand in a line as it is.
    """
    if given == "":
        return ""
    name = check_id(given, "agent")
    if name.casefold() in _VOICES:
        raise InvalidInput("agent", "the name of a role", "use one that nobody takes for the user or the system")
    if name != " ".join(name.split()) or not name.isprintable() or not _MARKS.isdisjoint(name):
        raise InvalidInput("agent", "not a plain name", "use letters, digits, single spaces, and marks such as - _ . /")
    return name


def _covers(place: Namespace, namespace: Namespace) -> bool:
    return namespace[: len(place)] == place


def _outermost(places: Iterable[Namespace]) -> tuple[Namespace, ...]:
    found: list[Namespace] = []
    for place in sorted(set(places)):
        # Sorted: what covers a place comes before it.
        if not any(_covers(known, place) for known in found):
            found.append(place)
    return tuple(found)
