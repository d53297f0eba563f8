"""`threads`, `show`, `add`, `promote`, `end`: conversations and their messages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from bethink.cli.options import Answer, Run, verb
from bethink.errors import InvalidInput

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.messages import Message
    from bethink.records import Summary
    from bethink.threads import ThreadInfo

__all__ = ["ThreadArgument", "parse_metadata", "register", "show_message"]

ThreadArgument = Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.", show_default=False)]
_Role = Literal["system", "developer", "user", "assistant", "tool"]
_Tier = Literal["permanent", "long_term", "working", "ephemeral"]
_SHOWN_CHARACTERS = 400


def register(app: typer.Typer) -> None:
    verb(app, "threads", "bethink threads --user mara", "bethink threads --namespace acme --below")(threads)
    verb(app, "show", "bethink show trip --user mara", "bethink show trip --user mara --limit 5 --json")(show)
    verb(
        app,
        "add",
        'bethink add trip user "I moved to Ghent." --user mara',
        """bethink add trip assistant Noted. --metadata '{"model": "small"}'""",
    )(add)
    verb(
        app,
        "promote",
        "bethink promote trip 3 --user mara",
        "bethink promote trip 3 --tier working --user mara",
    )(promote)
    verb(app, "end", "bethink end trip --user mara", "bethink end trip --user mara --json")(end)


def threads(
    run: Run,
    below: Annotated[bool, typer.Option("--below", help="Also threads of the namespaces below.")] = False,
) -> Answer:
    """List the threads, oldest first."""
    with run.memory() as memory:
        found = memory.threads(below=below)
    return Answer({"namespace": run.namespace, "threads": found}, lambda page: _show_threads(page, run, found, below))


def _show_threads(page: Page, run: Run, found: list[ThreadInfo], below: bool) -> None:
    from bethink.cli.render import when

    if not found:
        page.say(f"No threads in {'/'.join(run.namespace)}." + ("" if below else " Look below it with --below."))
        return
    rows = [
        (
            *(("/".join(thread.namespace),) if below else ()),
            f"{thread.count:,}",
            when(thread.updated_at),
            "yes" if thread.reflected_through == thread.tip else "no" if not thread.reflected_through else "in part",
            thread.thread_id,
        )
        for thread in found
    ]
    page.table((*(("namespace",) if below else ()), ">messages", "updated", "ended", "thread"), rows)


def show(
    run: Run,
    thread: ThreadArgument,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="The newest so many.")] = 20,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
) -> Answer:
    """Show the messages of a thread, oldest first."""
    with run.memory() as memory:
        info = memory.thread(thread).info()
        messages = memory.thread(thread).messages(None if everything else limit)
        tiers = {seq: given.tier for seq, given in memory.thread(thread).tiers().items()}
    plain = [msgspec.structs.replace(message, raw=None) for message in messages]
    return Answer({"thread": info, "messages": plain, "tiers": tiers}, lambda page: _show_messages(page, info, messages, tiers))


def show_message(page: Page, message: Message, tier: str = "") -> None:
    """A message, under a line that says who said it when, and its tier where that is not "working"."""
    from bethink.cli.render import when

    tier = tier or message.tier
    shown_tier = "" if tier == "working" else f"  {tier}"
    page.note(f"#{message.seq}  {message.speaker}  {when(message.created_at)}  {message.id}{shown_tier}")
    text = message.text
    cut = len(text) - _SHOWN_CHARACTERS
    if text:
        page.say(text if cut <= 0 else f"{text[:_SHOWN_CHARACTERS]}… ({cut:,} more characters with --json)", indent=2)
    for call in message.tool_calls:
        page.say(f"calls {call.name}({call.arguments[:_SHOWN_CHARACTERS]})", indent=2)


def _show_messages(page: Page, info: ThreadInfo, messages: list[Message], tiers: Mapping[int, str]) -> None:
    from bethink.cli.render import counted

    for message in messages:
        show_message(page, message, tiers.get(message.seq, ""))
    if len(messages) < info.count:
        page.note(f"The newest {len(messages)} of {counted(info.count, 'message')}; --all shows the rest.")


def add(
    run: Run,
    thread: ThreadArgument,
    role: Annotated[
        _Role, typer.Argument(metavar="ROLE", help="system, developer, user, assistant or tool.", show_default=False)
    ],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is said.", show_default=False)],
    name: Annotated[str | None, typer.Option(help="The speaker's name, or the tool's.")] = None,
    message_id: Annotated[str, typer.Option("--id", help="An id: adding it again is a retry.", show_default=False)] = "",
    call: Annotated[str | None, typer.Option("--tool-call-id", help="For a tool's result: the call it answers.")] = None,
    metadata: Annotated[str | None, typer.Option(help="A JSON object to keep with it.")] = None,
) -> Answer:
    """Append a message to a thread.

    The thread and the database are made if need be.
    """
    given = parse_metadata(metadata)
    with run.memory(create=True) as memory:
        message = memory.thread(thread).add(role, text, id=message_id, name=name, tool_call_id=call, metadata=given)
    return Answer(
        {"thread_id": thread, "message": message},
        lambda page: page.say(f"Message {message.seq} of thread {thread}: {message.id}"),
    )


def promote(
    run: Run,
    thread: ThreadArgument,
    message: Annotated[
        str, typer.Argument(metavar="MESSAGE", help="Its number in the thread (see show), or its id.", show_default=False)
    ],
    tier: Annotated[_Tier, typer.Option(help="permanent, long_term, working or ephemeral.")] = "permanent",
) -> Answer:
    """Give a message another tier: how long it stays in view.

    A permanent one is in every context. The message itself is not changed.
    """
    with run.memory() as memory:
        before = memory.thread(thread).promote(int(message) if message.isascii() and message.isdigit() else message, tier)
    return Answer(
        {"thread_id": thread, "message": message, "tier": tier, "before": before},
        lambda page: page.say(
            f"Message {message} of thread {thread} is {tier} now" + ("." if before == tier else f", was {before}.")
        ),
    )


def parse_metadata(text: str | None) -> dict[str, Any]:
    """The value of --metadata.

    Raises:
        InvalidInput: it is no JSON object.
    """
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput("metadata", "not JSON", """write it as '{"key": "value"}'""") from error
    if not isinstance(value, dict):
        raise InvalidInput("metadata", f"a JSON {type(value).__name__}", """write it as '{"key": "value"}'""")
    return value


def end(run: Run, thread: ThreadArgument) -> Answer:
    """End a session: write its summary, bring the profile up to date."""
    with run.memory() as memory:
        summary = memory.thread(thread).end()
    return Answer({"thread_id": thread, "summary": summary}, lambda page: _show_summary(page, thread, summary))


def _show_summary(page: Page, thread: str, summary: Summary | None) -> None:
    from bethink.cli.render import counted, one_line, when

    if summary is None:
        page.say(f"Thread {thread} is ended; it holds nothing to sum up.")
        return
    page.say(f"Thread {thread} is ended. Its summary, up to message {summary.through}:")
    for line in summary.lines:
        speaker = f"{line.speaker}: " if line.speaker else ""
        page.item(f"{speaker}{one_line(line.text)}", f"{when(line.at)}, from {counted(len(line.sources), 'message')}")
