"""The folded past of a thread as lines for its context, and those of the last contexts kept for the next.

The folded past changes when something folds, and its choice of lines when a message comes into view that one of them rests
on, or when something that one says is superseded. At most turns none of that happens: the lines are those of the turn before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from bethink.context import FoldedLines, Item, Shown, item_of_node
from bethink.engine import Engine
from bethink.models.measure import Measure
from bethink.records import Insight, Node
from bethink.steps.view import View

__all__ = ["folded_lines", "with_changes"]


def folded_lines(
    engine: Engine, view: View, visible: frozenset[str], changed: Mapping[str, Insight], budget: int, measure: Measure
) -> tuple[Shown, ...]:
    """Lines of the folded past that say something the messages in view do not, each once, in the order of their nodes.

    The lines of `view.segments` have the first choice of the room.

    Args:
        visible: the ids of the messages in view.
        changed: see `with_changes`.
        budget: of the context; the lines have a share of it.
    """
    if not view.nodes and not view.segments:
        return ()
    key = (view.thread.namespace, view.thread.thread_id, measure.name)
    limit = int(engine.settings.memory_share * budget)
    known = engine.folded.get(key)
    if (
        known is not None
        and known.limit == limit
        and known.nodes == view.nodes
        and known.segments == view.segments
        and known.visible == visible & known.sources
        and (known.changed is changed or known.changed == changed)
    ):
        if known.changed is not changed:
            # So that the next comparison is short.
            engine.folded.keep(key, msgspec.structs.replace(known, changed=changed))
        return known.lines
    chosen = with_changes(_items(engine, view, visible, limit), changed)
    sources = frozenset(source for node in (*view.nodes, *view.segments) for line in node.lines for source in line.sources)
    found = FoldedLines(
        limit=limit,
        nodes=view.nodes,
        segments=view.segments,
        sources=sources,
        visible=visible & sources,
        changed=changed,
        lines=tuple([engine.lines.shown(item, measure) for item in chosen]),
    )
    engine.folded.keep(key, found)
    return found.lines


def with_changes(items: Sequence[Item], changed: Mapping[str, Insight]) -> list[Item]:
    """Items, those that quote a message which said something superseded since with what took its place.

    Args:
        changed: what took the place of something a message said, by the message's id (see `changed_since`).
    """
    if not changed:
        return list(items)
    unchanged = changed.keys().isdisjoint
    return [item if unchanged(item.sources) else _changed(item, changed) for item in items]


def _changed(item: Item, changed: Mapping[str, Insight]) -> Item:
    by = next(changed[source] for source in item.sources if source in changed)
    return msgspec.structs.replace(item, changed=by.text, changed_by=by.id)


def _items(engine: Engine, view: View, visible: frozenset[str], limit: int) -> list[Item]:
    first = {node.id for node in view.segments}
    # A segment may be a root or a child of one: its lines are then lines of both.
    own = _chosen(engine, view.segments, visible, limit)
    taken = {node.lines[index] for node, index in own}
    limit -= sum(engine.counter.count(line.text) for line in taken)
    rest = _chosen(engine, [node for node in view.nodes if node.id not in first], visible, limit)
    chosen = [*own, *((node, index) for node, index in rest if node.lines[index] not in taken)]
    if own:
        chosen.sort(key=lambda at: (at[0].last_seq, -at[0].level, at[1]))
    return [item_of_node(node, index, _reason(node)) for node, index in chosen]


def _reason(node: Node) -> str:
    written = "" if node.author == "extractive" else f", written by {node.author}"
    return f"folds messages {node.first_seq}-{node.last_seq}{written}"


def _chosen(engine: Engine, nodes: Sequence[Node], visible: frozenset[str], limit: int) -> list[tuple[Node, int]]:
    """The lines of nodes that say most within `limit` tokens, each as its node and its number."""
    said = [(node, index) for node in nodes for index, line in enumerate(node.lines) if not visible.issuperset(line.sources)]
    if not said or limit < 1:
        return []
    chosen = engine.chosen_lines([node.lines[index] for node, index in said], limit)
    return [at for position, at in enumerate(said) if position in chosen]
