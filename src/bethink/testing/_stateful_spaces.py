"""`SpaceRules`: the part of `StoreMachine` that gives units their vectors, and goes from one embedder to another."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from bethink.storage.base import Put, Scope, Store, TokenVectors
from bethink.testing._stateful import NAMESPACES, TOKENS, MachineBase, embedders, namespaces, scan, texts
from bethink.testing.doubles import HashEmbedder
from bethink.values import Namespace

__all__ = ["SpaceRules"]


class SpaceRules(MachineBase):
    """Vectors for some of what waits, in the space in use or in the one being filled; tokens; vectors that come too late."""

    @rule(namespace=namespaces, amount=st.integers(1, 8), newest=st.booleans())
    def embed(self, namespace: Namespace, amount: int, newest: bool) -> None:
        self.embed_waiting(namespace, amount, newest)

    def embed_waiting(self, namespace: Namespace, amount: int, newest: bool = False) -> None:
        """Vectors for some of the waiting units, of the current space or of the one being filled. Their numbers are each
        store's own; their texts are the same."""
        embedder = self.in_use(newest)

        def embed(store: Store) -> list[str]:
            waiting = scan(store, "pending", Scope(namespace), space=embedder.fingerprint)
            texts = sorted({unit.text for unit in waiting})[:amount]
            vectors = tuple((unit.unit, embedder.stored(unit.text)) for unit in waiting if unit.text in texts)
            # Half of them with tokens from the start.
            tokens = tuple((unit.unit, _tokens(unit.text)) for unit in waiting if unit.text in texts[::2])
            given = TokenVectors(TOKENS, tokens)
            store.put(Put(namespace=namespace, vectors=vectors, space=embedder.fingerprint, tokens=given))
            return texts

        self.both(embed)

    @rule(namespace=namespaces, amount=st.integers(1, 8))
    def give_tokens(self, namespace: Namespace, amount: int) -> None:
        """Vectors of their tokens for some of the units that have a vector and none."""

        def give(store: Store) -> list[str]:
            waiting = scan(store, "pending", Scope(namespace), tokens=TOKENS)
            texts = sorted({unit.text for unit in waiting})[:amount]
            tokens = tuple((unit.unit, _tokens(unit.text)) for unit in waiting if unit.text in texts)
            store.put(Put(namespace=namespace, tokens=TokenVectors(TOKENS, tokens)))
            return texts

        self.both(give)

    @rule(embedder=embedders)
    def fill_space(self, embedder: HashEmbedder) -> None:
        """Begin another space, go on with one, or give one up."""
        self.both(lambda store: store.fill_space(embedder.fingerprint))

    @rule(surely=st.booleans(), embedder=embedders, waiting=st.sampled_from((0, 0, 2)))
    def switch_space(self, surely: bool, embedder: HashEmbedder, waiting: int) -> None:
        """To the space that is being filled, all of it if `surely`; or to whichever, which may be none in use."""
        if surely:
            embedder, waiting = self.in_use(newest=True), 0
            for namespace in NAMESPACES:
                self.embed_waiting(namespace, 100, newest=True)
        self.both(lambda store: store.switch_space(embedder.fingerprint, waiting=waiting))

    @rule()
    def sweep(self) -> None:
        """Backends may take several turns at it."""
        self.both(lambda store: store.sweep(), lambda _: None)

    @rule(text=texts, embedder=embedders, newest=st.booleans())
    def put_late_vectors(self, text: str, embedder: HashEmbedder, newest: bool) -> None:
        """Vectors for a space that may not be in use (any more); of another dimension, for one that is."""
        space = self.in_use(newest).fingerprint
        named = embedder.fingerprint if embedder.fingerprint.dimension == space.dimension else space

        def put(store: Store) -> None:
            units = [each.unit for each in scan(store, "pending", Scope(("a",)), space=space) if each.text == text]
            store.put(Put(namespace=("a",), vectors=tuple((unit, embedder.stored(text)) for unit in units), space=named))

        self.both(put)


def _tokens(text: str) -> bytes:
    """Two bytes for each word."""
    return b"".join(word.encode()[:1] * 2 for word in text.split())
