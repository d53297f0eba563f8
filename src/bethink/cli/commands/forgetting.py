"""`forget`, `verify`, `attested`: remove something for good, prove it, and let others check the proof."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bethink.cli import doomed
from bethink.cli.options import Answer, Run, examples, print_answer, verb
from bethink.errors import InvalidInput

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.memory import Memory
    from bethink.storage.base import ForgetReceipt, Store, Verification

__all__ = ["facts_of", "proof_line", "receipt_line", "register"]


def register(app: typer.Typer) -> None:
    verb(
        app,
        "forget",
        "bethink forget --message MESSAGE_ID --user mara",
        "bethink forget --record mem:3f2a9c1d --user mara --yes",
        "bethink forget --thread trip --yes --sign key.pem --receipt gone.json",
    )(forget)
    verb(app, "verify", 'bethink verify "allergic to peanuts"', 'bethink verify "Ghent" "Gent" --db agent.db --json')(verify)
    app.command("attested", epilog=examples("bethink attested gone.json --key public.pem --json"))(attested)


def forget(
    run: Run,
    message: Annotated[str | None, typer.Option(metavar="ID", help="A message, with its tool call and result.")] = None,
    record: Annotated[str | None, typer.Option(metavar="ID", help="A note, insight or summary.")] = None,
    thread: Annotated[str | None, typer.Option(metavar="ID", help="A thread with all its messages.")] = None,
    whole_namespace: Annotated[bool, typer.Option("--whole-namespace", help="All of the namespace and below.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not search the files for the words afterwards.")] = False,
    sign: Annotated[
        Path | None, typer.Option(metavar="KEYFILE", help="Sign the receipt: a secret of 16 bytes or more, or an Ed25519 key.")
    ] = None,
    receipt_file: Annotated[
        Path | None, typer.Option("--receipt", metavar="FILE", help="Where the signed receipt goes.")
    ] = None,
) -> Answer:
    """Remove one thing and all that rests on it, and prove it.

    Its words are noted before and looked for in every byte of the database's files afterwards; exit code 1 if any is found.
    """
    named = [name for name in (message, record, thread) if name is not None]
    if len(named) + whole_namespace != 1:
        raise InvalidInput(
            "forget",
            f"{len(named) + whole_namespace} things named",
            "name one: --message, --record, --thread, --whole-namespace",
        )
    if (sign is None) != (receipt_file is None):
        raise InvalidInput("sign", "one of --sign and --receipt", "give both: the key, and where the receipt goes")
    key = None if sign is None else _key(sign)
    with run.database() as (memory, store):
        marked = _marked(memory, store, message, record, thread)
        if not yes:
            _confirm(run, marked.what)
        receipt = memory.forget(
            message=message, record=record, thread=thread, namespace=run.namespace if whole_namespace else None
        )
        proof = None if no_verify else doomed.prove(memory, store, marked.texts)
    if key is not None and receipt_file is not None:
        from bethink.attestations import attest

        signed = attest(receipt, key, verification=None if proof is None else proof.verification)
        receipt_file.write_text(signed.to_json() + "\n", encoding="utf-8")
    failed = not receipt.erased or (proof is not None and proof.failed)
    facts = {"forgotten": marked.what, "receipt": receipt, **_facts_of_proof(proof)}
    return Answer(facts, lambda page: _show_receipt(page, marked.what, receipt, proof), int(failed))


def _key(path: Path) -> bytes:
    from bethink.attestations import check_key

    key = path.read_bytes()
    check_key(key)
    return key


def attested(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A signed receipt.", show_default=False)],
    key: Annotated[Path, typer.Option(metavar="KEYFILE", help="The secret it was signed with, or the Ed25519 public key.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Check a signed receipt of a forget. Needs no database.

    Exit code 1 if it says that the bytes were not cleaned, or found, or not looked for; 2 if it is not what was signed.
    """
    from bethink.attestations import check_attestation

    found = check_attestation(file.read_bytes().strip(), key.read_bytes())

    def show(page: Page) -> None:
        page.say(f"Signed ({found.algorithm}): receipt {found.receipt}, {found.at:%Y-%m-%d %H:%M} UTC.")
        page.say(f"Forgotten: {len(found.messages)} messages, {len(found.records)} records, {len(found.threads)} threads.")
        looked = (
            "not looked for" if found.hits is None else f"{found.hits} hits for {found.pieces} pieces in {found.bytes:,} bytes"
        )
        page.say(f"Bytes {'cleaned' if found.erased else 'not cleaned yet'}; {looked}.")

    print_answer(Answer({"clean": found.clean, "attestation": found}, show), as_json=as_json)
    if not found.clean:
        raise typer.Exit(1)


def _marked(memory: Memory, store: Store, message: str | None, record: str | None, thread: str | None) -> doomed.Doomed:
    if message is not None:
        return doomed.message(memory, store, message)
    if record is not None:
        return doomed.record(memory, record)
    if thread is not None:
        return doomed.thread(memory, thread)
    return doomed.namespace(memory, store)


def _confirm(run: Run, what: str) -> None:
    if run.as_json or not sys.stdin.isatty():
        raise InvalidInput("yes", "not given, and nobody is there to ask", "add --yes")
    typer.confirm(f"Forget {what}? It cannot be undone.", abort=True, err=True)


def _facts_of_proof(proof: doomed.Proof | None) -> dict[str, Any]:
    found = None if proof is None else proof.verification
    return {
        "verification": None if found is None else facts_of(found),
        "still_said_elsewhere": 0 if proof is None else proof.still_said,
    }


def _show_receipt(page: Page, what: str, receipt: ForgetReceipt, proof: doomed.Proof | None) -> None:
    page.say(f"Forgotten: {what}.")
    page.say(f"Gone: {receipt_line(receipt)}.")
    if receipt.changed or receipt.revived:
        page.say(f"Kept on other words: {len(receipt.changed)} records; current again: {len(receipt.revived)}.")
    if not receipt.erased:
        page.say("A reader held the log open: the bytes go with the next forget or close. `bethink check` tells.")
    if proof is None:
        page.say("Not verified.")
    else:
        _show_outcome(page, proof)
    page.note(f"receipt {receipt.id}")


def _show_outcome(page: Page, proof: doomed.Proof) -> None:
    if proof.verification is not None:
        page.say(f"Verified: {proof_line(proof.verification)}.")
    if proof.still_said:
        page.say(f"{proof.still_said} of its texts are still said by something that was kept, and were not looked for.")


def receipt_line(receipt: ForgetReceipt) -> str:
    """What a receipt counts, in words: `1 message, 2 records, 3 summary lines, ...`."""
    from bethink.cli.render import counted

    parts = (
        (len(receipt.thread_ids), "thread"),
        (len(receipt.message_ids), "message"),
        (len(receipt.record_ids), "record"),
        (receipt.lines, "summary line"),
        (receipt.units, "search entry"),
        (receipt.receipts, "context receipt"),
        (receipt.checkpoints, "checkpoint"),
    )
    plurals = {"search entry": "search entries"}
    return ", ".join(counted(number, noun, plurals.get(noun, "")) for number, noun in parts if number) or "nothing"


def verify(
    run: Run, texts: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Words to look for.", show_default=False)]
) -> Answer:
    """Look for words in every byte of the database's files.

    Words that something kept still says do not count. Exit code 1 if there are any others.
    """
    with run.memory() as memory:
        proof = memory.verify(*texts)
    return Answer(facts_of(proof), lambda page: _show_proof(page, proof), int(not proof.clean))


def _show_proof(page: Page, proof: Verification) -> None:
    page.say(proof_line(proof))
    for file, offset, _ in proof.hits[:5]:
        page.note(f"{file}, byte {offset:,}", indent=2)
    if len(proof.hits) > 5:
        page.note(f"and {len(proof.hits) - 5:,} more places", indent=2)


def proof_line(proof: Verification) -> str:
    """`0 hits for 12 pieces in 196,608 bytes of agent.db, agent.db-wal`."""
    from bethink.cli.render import counted

    names = ", ".join(name.replace("\\", "/").rsplit("/", 1)[-1] for name, _ in proof.files) or "no file"
    total = sum(of_file for _, of_file in proof.files)
    return f"{counted(len(proof.hits), 'hit')} for {counted(proof.needles, 'piece')} in {total:,} bytes of {names}"


def facts_of(proof: Verification) -> dict[str, Any]:
    """A verification for --json, with what its properties say."""
    return {
        "clean": proof.clean,
        "needles": proof.needles,
        "bytes": sum(of_file for _, of_file in proof.files),
        "files": [{"file": file, "bytes": of_file} for file, of_file in proof.files],
        "hits": [{"file": file, "offset": offset, "piece": piece} for file, offset, piece in proof.hits],
    }
