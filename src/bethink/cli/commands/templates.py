"""`templates`: how profiles can be laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bethink.cli.options import Answer, Run, verb
from bethink.cli.template import given_template

if TYPE_CHECKING:
    from bethink.cli.render import Page
    from bethink.insights.domains.template import ProfileTemplate, TemplateSection

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    verb(
        app,
        "templates",
        "bethink templates",
        "bethink templates healthcare",
        "bethink templates patient.json       # whether a JSON Schema can be met",
        "BETHINK_PROFILE=healthcare bethink import chat.json --user mara",
    )(templates)


def templates(
    run: Run,  # noqa: ARG001 - every command has one
    name: Annotated[str | None, typer.Argument(metavar="[TEMPLATE]", help="One of them, or a file with a JSON Schema.")] = None,
) -> Answer:
    """List the templates that a profile can be laid out by, or the sections of one.

    BETHINK_PROFILE has every command open the memory with a template, as Memory(profile=...) does.
    """
    from bethink.insights.domains.catalogue import TEMPLATES
    from bethink.insights.domains.given import template_from

    if name is None:
        shown = list(TEMPLATES.values())
        return Answer({"templates": [_summed(each) for each in shown]}, lambda page: _list(page, shown))
    template = template_from(given_template(name))
    facts = {**_summed(template), "sections": [_of_section(each) for each in template.ordered]}
    return Answer(facts, lambda page: _show(page, template))


def _summed(template: ProfileTemplate) -> dict[str, Any]:
    return {
        "name": template.name,
        "about": template.about,
        "size": template.size,
        "instructions": template.instructions,
        "sections": [section.name for section in template.ordered],
    }


def _of_section(section: TemplateSection) -> dict[str, Any]:
    names = ("slots", "topics", "words", "asks", "limit", "pinned", "polarity", "holds")
    return {"name": section.name, "title": section.shown, **{name: getattr(section, name) for name in names}}


def _list(page: Page, shown: list[ProfileTemplate]) -> None:
    for template in shown:
        page.item(template.name, template.about, indent=0)


def _show(page: Page, template: ProfileTemplate) -> None:
    page.heading(template.about or template.name)
    for section in template.ordered:
        taken = [*section.slots, *section.topics, *[f"my {phrase} is ..." for phrase in section.asks]]
        told = ["never let go"] if section.pinned else [f"at most {section.most}"] if section.most else []
        if section.words:
            told.append(f"with one of {len(section.words)} words")
        page.item(section.shown, "; ".join([", ".join(taken), *told]), indent=0)
