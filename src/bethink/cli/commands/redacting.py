"""`redact`: secrets and personal data out of what is stored."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
import typer

from bethink.cli.options import Answer, Run, verb
from bethink.errors import InvalidInput

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.redaction import Kind, Redaction
    from bethink.steps.redact import RedactReport

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    verb(
        app,
        "redact",
        "bethink redact --db agent.db --user mara --dry-run",
        "bethink redact --db agent.db --kinds card,iban,password --yes --json",
        "bethink redact --pattern 'customer=KD-[0-9]{8}' --yes",
    )(redact)


def redact(
    run: Run,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be.")] = False,
    kinds: Annotated[str | None, typer.Option(metavar="KIND,...", help="Only these kinds; all by default.")] = None,
    pattern: Annotated[
        list[str] | None, typer.Option(metavar="NAME=REGEX", help="A kind of your own; may be given several times.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> Answer:
    """Replace secrets and personal data in what is stored, in the namespace and all below it, and erase the bytes.

    Kinds: private_key, jwt, api_key, url_password, password, iban, card, ssn, email, phone. Cards and IBANs are checked by
    their digits. Each is replaced by a placeholder such as [redacted:email]. After an interruption, call it again.
    """
    redaction = _redaction(kinds, pattern or [])
    with run.memory() as memory:
        if not dry_run and not yes:
            if run.as_json or not sys.stdin.isatty():
                raise InvalidInput("yes", "not given, and nobody is there to ask", "add --yes, or --dry-run")
            typer.confirm("Replace what is found? It cannot be undone.", abort=True, err=True)
        report = memory.redact(redaction, dry_run=dry_run)
    facts = {**msgspec.to_builtins(report), "changed": report.changed}
    return Answer(facts, lambda page: _show(page, report), int(not report.erased))


def _redaction(kinds: str | None, patterns: list[str]) -> Redaction:
    from bethink.redaction import KINDS, Redaction

    own: dict[str, str] = {}
    for given in patterns:
        name, sign, pattern = given.partition("=")
        if not sign:
            raise InvalidInput("pattern", "no name", "write NAME=REGEX, such as customer=KD-[0-9]{8}")
        own[name] = pattern
    chosen: Any = KINDS if kinds is None else tuple([kind.strip() for kind in kinds.split(",") if kind.strip()])
    return Redaction(kinds=cast("tuple[Kind, ...]", chosen), patterns=own)


def _show(page: Page, report: RedactReport) -> None:
    from bethink.cli.render import counted

    would = "Would be redacted" if report.dry_run else "Redacted"
    parts = (
        (report.messages, "message"),
        (report.records, "record"),
        (report.nodes, "summary"),
        (report.checkpoints, "checkpoint"),
        (report.threads, "thread's metadata"),
    )
    plurals = {"summary": "summaries", "thread's metadata": "threads' metadata"}
    said = ", ".join(counted(number, noun, plurals.get(noun, "")) for number, noun in parts if number) or "nothing"
    page.say(f"{would}: {said}, of {report.looked_at:,} looked at.")
    if report.kinds:
        page.say("Found: " + ", ".join(f"{kind} {number:,}" for kind, number in report.kinds.items()) + ".")
    if report.dropped:
        page.say(f"Checkpoints whose state cannot be written anew, and {'go' if report.dry_run else 'went'}: {report.dropped}.")
    if report.receipts:
        page.say(f"Context receipts that showed some of it and went: {report.receipts:,}.")
    if not report.erased:
        page.say("A reader held the log open: the bytes go with the next forget or close. `bethink check` tells.")
