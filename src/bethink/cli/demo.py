"""The tour behind `bethink demo`: ten steps on the sessions of `bethink.demo`, each a real call with its real result.

A step is a function from the stage (the open memory, its two people, the page) to the facts it found: it writes them on the
page for a person, and they are the document of --json.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from bethink.cli import doomed
from bethink.cli.commands import context as context_command
from bethink.cli.commands import forgetting
from bethink.cli.commands import recall as recall_command
from bethink.cli.commands.profile import Quotes, history_of, show_entry, show_retired
from bethink.cli.options import Run
from bethink.cli.render import Page, counted, one_line, when
from bethink.context import Context
from bethink.demo import conversations
from bethink.importing import Conversation
from bethink.memory import Memory
from bethink.models.minilm import MiniLM
from bethink.records import Insight
from bethink.storage.base import Store

__all__ = ["tour"]

NAMESPACE = ("default",)
BUDGET = 700
SHARED_QUESTION = "What am I allergic to?"
UNANSWERED_QUESTION = "What is the password of the guest wifi?"
NEW_SESSION = "mara-new-session"
NEW_MESSAGE = "I'm booking a dinner with my team for Saturday. What should I keep in mind?"
FORGOTTEN = ("mara-2026-06-22", 16)
_SHOWN_LINES = 3
_SHOWN_ENTRIES = 5
_SHOWN_CHARACTERS = 74
_LINE_WIDTH = 38


class _Stage(msgspec.Struct, frozen=True):
    memory: Memory
    store: Store
    page: Page
    sessions: tuple[Conversation, ...]

    @property
    def mara(self) -> Memory:
        return self.memory.user("mara")

    @property
    def tobias(self) -> Memory:
        return self.memory.user("tobias")

    def owner(self, session: Conversation) -> Memory:
        assert session.user is not None, "every session of the transcript says whose it is"
        return self.memory.user(session.user)


def tour(path: Path, *, kept: bool, page: Page | None) -> dict[str, Any]:
    """Walk through all steps on a new database at `path`; returns their facts by name. Without a page nothing is printed."""
    page = page or Page(Console(quiet=True))
    meaning = MiniLM.available()
    page.say(
        "This tour fills a new database with seven chat sessions of two people, Mara and Tobias. "
        "All that follows is computed now, on this machine, without a language model and without a network."
    )
    if not meaning:
        page.say('No embedder is installed (pip install "bethink[minilm]"): recall goes by words alone.')
    facts: dict[str, Any] = {"db": str(path), "recall_by": "words and meaning" if meaning else "words"}
    with Run(db=path, namespace=NAMESPACE).database(create=True) as (memory, store):
        stage = _Stage(memory, store, page, conversations())
        for number, (name, title, step) in enumerate(_STEPS, start=1):
            page.blank()
            page.heading(f"{number}. {title}")
            facts[name] = step(stage)
    _farewell(page, path, kept=kept)
    return facts


# -- the steps ------------------------------------------------------------------------------------------------------------


def _import(stage: _Stage) -> dict[str, Any]:
    added = {session.thread_id: _append(stage, session) for session in stage.sessions}
    again = sum(_append(stage, session) for session in stage.sessions)
    stage.page.table(
        (">messages", "user", "session"),
        [(added[each.thread_id], each.user, f"{each.thread_id}  {each.title}") for each in stage.sessions],
    )
    stage.page.say(f"Imported again: {again} messages added; an id that is there is not stored twice.")
    return {"sessions": added, "messages": sum(added.values()), "added_again": again}


def _append(stage: _Stage, session: Conversation) -> int:
    return stage.owner(session).thread(session.thread_id).append(session.messages).added


def _end(stage: _Stage) -> dict[str, Any]:
    summaries = {each.thread_id: stage.owner(each).thread(each.thread_id).end() for each in stage.sessions}
    lines = {thread: len(summary.lines) if summary else 0 for thread, summary in summaries.items()}
    latest = stage.mara.records("summary")[-1]
    stage.page.say(
        f"Each got a summary of whole sentences with their sources: {sum(lines.values())} lines for "
        f"{sum(len(each.messages) for each in stage.sessions)} messages. The last of Mara's begins:"
    )
    for line in latest.text.splitlines()[:_SHOWN_LINES]:
        stage.page.say(f"- {one_line(line, _SHOWN_CHARACTERS)}", indent=2)
    return {"summary_lines": lines}


def _profile(stage: _Stage) -> dict[str, Any]:
    profile = stage.mara.profile()
    quotes = Quotes(stage.mara)
    stage.page.say(
        f"{len(profile)} things, each with its retention score (it fades when unused) and the words it rests on. "
        f"The first {_SHOWN_ENTRIES}:"
    )
    for entry in profile.entries[:_SHOWN_ENTRIES]:
        show_entry(stage.page, entry, quotes.of(entry.insight))
    return {
        "entries": [
            {"text": entry.insight.text, "slot": entry.insight.slot, "score": entry.score, "quotes": quotes.of(entry.insight)}
            for entry in profile.entries
        ]
    }


def _superseded(stage: _Stage) -> dict[str, Any]:
    known = history_of(stage.mara, "user")
    past = [insight for insight in known.values() if insight.superseded_by in known]
    stage.page.say("A newer statement takes the place of an older one, which stays in history:")
    for insight in past:
        show_retired(stage.page, insight, known)
    return {"superseded": [_change(insight, known) for insight in past]}


def _change(insight: Insight, known: dict[str, Insight]) -> dict[str, Any]:
    return {
        "text": insight.text,
        "slot": insight.slot,
        "reason": insight.reason,
        "until": insight.valid_to or insight.retired_at,
        "now": known[insight.superseded_by or ""].text,
    }


def _context(stage: _Stage) -> dict[str, Any]:
    thread = stage.mara.thread(NEW_SESSION)
    thread.add("user", NEW_MESSAGE)
    built = thread.context(budget=BUDGET)
    again = stage.mara.replay(built.receipt_id)
    same = again.to_bytes() == built.to_bytes()
    stage.page.say(f"Mara opens a new session: “{NEW_MESSAGE}” This is what the model gets, at most {BUDGET} tokens:")
    _show_compactly(stage.page, built)
    stage.page.say(
        f"{built.tokens} of {built.budget} tokens. Receipt {built.receipt_id}: replayed, it gives "
        + ("the same bytes." if same else "OTHER bytes.")
    )
    facts = context_command.facts_of(built)
    return {**facts, "replay_same_bytes": same}


def _show_compactly(page: Page, built: Context) -> None:
    """The lines of a context, each with its reason beside it; the parts of a score come further below."""
    for section, lines in groupby(built.lines, key=lambda line: line.section):
        page.note(section)
        for line in lines:
            reason = line.reason.partition(" (")[0] if section == "recalled" else line.reason
            page.say(f"{one_line(line.text, _LINE_WIDTH):{_LINE_WIDTH}}  {reason}", indent=1)


def _recall(stage: _Stage) -> dict[str, Any]:
    found = stage.mara.recall(SHARED_QUESTION, 2)
    stage.page.say(f"Mara asks: “{SHARED_QUESTION}” Each score is the sum of its parts:")
    recall_command.show_hits(stage.page, found, limit=_SHOWN_CHARACTERS)
    return {"query": SHARED_QUESTION, **recall_command.facts_of(found)}


def _nothing(stage: _Stage) -> dict[str, Any]:
    found = stage.mara.recall(UNANSWERED_QUESTION)
    stage.page.say(
        f"“{UNANSWERED_QUESTION}” {counted(len(found), 'hit')}: {found.empty_reason}. Better nothing than a wrong answer."
    )
    return {"query": UNANSWERED_QUESTION, **recall_command.facts_of(found)}


def _isolation(stage: _Stage) -> dict[str, Any]:
    found = stage.tobias.recall(SHARED_QUESTION, 2)
    stage.page.say(f"Tobias asks the same: “{SHARED_QUESTION}” He gets his own, never Mara's:")
    recall_command.show_hits(stage.page, found, limit=_SHOWN_CHARACTERS)
    return {"query": SHARED_QUESTION, **recall_command.facts_of(found)}


def _forget(stage: _Stage) -> dict[str, Any]:
    page, mara = stage.page, stage.mara
    thread_id, seq = FORGOTTEN
    message = next(each for each in mara.thread(thread_id).messages() if each.seq == seq)
    marked = doomed.message(mara, stage.store, message.id)
    known_before = [insight.text for insight in mara.profile()]
    before = mara.verify(*marked.texts)
    receipt = mara.forget(message=message.id)
    proof = doomed.prove(mara, stage.store, marked.texts)
    assert proof.verification is not None, "nobody else says these words"
    after = proof.verification
    known_after = [insight.text for insight in mara.profile()]
    gone = [text for text in known_before if text not in known_after]
    page.say(f"Mara wants {marked.what} forgotten, of {when(message.created_at)}:")
    page.say(f"“{one_line(message.text)}”", indent=2)
    page.say(f"Before: {forgetting.proof_line(before)}.")
    page.say(f"Gone: {forgetting.receipt_line(receipt)}.")
    for text in gone:
        page.say(f"No longer in the profile: {text}", indent=2)
    page.say(f"After: {forgetting.proof_line(after)}.")
    return {
        "message": message.id,
        "receipt": receipt,
        "before": forgetting.facts_of(before),
        "after": forgetting.facts_of(after),
        "profile_before": known_before,
        "profile_after": known_after,
    }


def _check(stage: _Stage) -> dict[str, Any]:
    problems = stage.memory.check()
    stage.page.say(
        "Sound: messages, summaries, insights, search index and receipts all agree."
        if not problems
        else f"{counted(len(problems), 'problem')}: {problems[0].what}"
    )
    return {"sound": not problems, "problems": problems}


_STEPS: tuple[tuple[str, str, Callable[[_Stage], dict[str, Any]]], ...] = (
    ("import", "Seven sessions come in", _import),
    ("end", "The sessions end", _end),
    ("profile", "What is known about Mara", _profile),
    ("superseded", "Minds change", _superseded),
    ("context", "What the model sees", _context),
    ("recall", "A question", _recall),
    ("nothing", "A question without an answer", _nothing),
    ("isolation", "Somebody else asks", _isolation),
    ("forget", "Forgetting, with proof", _forget),
    ("check", "Is the database sound?", _check),
)


def _farewell(page: Page, path: Path, *, kept: bool) -> None:
    page.blank()
    page.heading("What next")
    if kept:
        page.exact(f"  bethink profile --history --user mara --db {path}")
    else:
        page.exact("  bethink demo --keep                    # the same, in a file to look around in")
    page.exact("  bethink import chat.json --user me --end  # your own conversations")
    page.exact("  bethink --help")
