"""The profile: what is known of one subject now, within its bound, and what would leave it; by a template in sections. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, overload

import msgspec

from bethink.errors import InvalidInput, NotFound
from bethink.insights.domains.filled import Filled, fill
from bethink.insights.domains.given import template_from
from bethink.insights.domains.sectioned import Scored, beyond, laid_out
from bethink.insights.domains.template import ProfileTemplate, TemplateSection
from bethink.insights.past import opened
from bethink.insights.retention import first_hand, ranked, select_profile
from bethink.records import Insight
from bethink.settings import Retention, Settings
from bethink.values import utc

__all__ = ["Profile", "ProfileEntry", "ProfilePreview", "ProfileSection", "entries_of", "profile_of"]

_T = TypeVar("_T")


class ProfileEntry(msgspec.Struct, frozen=True):
    """An insight of a profile, and its retention score now."""

    insight: Insight
    score: float


class ProfilePreview(msgspec.Struct, frozen=True):
    """What would stay in a profile, and what would be archived, each best kept first. An archived insight is history: it is
    found by recall, and current again when it is said again.
    """

    keep: tuple[ProfileEntry, ...]
    archive: tuple[ProfileEntry, ...]


class ProfileSection(msgspec.Struct, frozen=True):
    """A section of a template, filled.

    Attributes:
        of: the section.
        entries: the insights in it, best kept first.
    """

    of: TemplateSection
    entries: tuple[ProfileEntry, ...]

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def title(self) -> str:
        return self.of.shown

    @property
    def filled(self) -> Filled:
        """Its value with the ids of the insights that it came from."""
        return fill(self.of.holds, [entry.insight for entry in self.entries])

    @property
    def value(self) -> Any:
        """What its insights say: a list, or one value, or None where nothing is known."""
        return self.filled.value

    @property
    def insight_ids(self) -> tuple[str, ...]:
        """The insight behind each value."""
        return self.filled.insight_ids

    def __iter__(self) -> Iterator[Insight]:
        return iter([entry.insight for entry in self.entries])

    def __len__(self) -> int:
        return len(self.entries)


class Profile(msgspec.Struct, frozen=True):
    """The current insights about one subject, best kept first; at most `settings.profile_size` of them, or as many as are
    exempt. By a template, section by section: then it holds what these take, within their limits and the bound of the whole.

    Attributes:
        beyond: those that no longer have a place among them, which the next end of a session archives.
        at: when it was read.
        size, retention: the settings that it was chosen by.
        template: what it is laid out by; `sections` are its own, filled.
        others: by a template, what none of its sections takes.
        own: the template of the memory, by which sessions archive.
    """

    subject: str
    entries: tuple[ProfileEntry, ...]
    beyond: tuple[ProfileEntry, ...] = ()
    at: datetime | None = None
    size: int = Settings().profile_size
    retention: Retention = Retention()
    template: ProfileTemplate | None = None
    sections: tuple[ProfileSection, ...] = ()
    others: tuple[ProfileEntry, ...] = ()
    own: ProfileTemplate | None = None

    def preview(
        self, at: datetime | None = None, *, size: int | None = None, retention: Retention | None = None
    ) -> ProfilePreview:
        """What the end of a session would keep and archive, if nothing is said or used till then. Nothing is written.

        Args:
            at: when the session would end; aware. By default when the profile was read.
            size, retention: settings to try instead of the memory's own.
        """
        now = self._time() if at is None else utc(at, "at")
        settings = Settings(profile_size=self.size if size is None else size, retention=retention or self.retention)
        insights = self._known()
        gone = beyond(filter(first_hand, insights), now=now, settings=settings, template=self.own)
        names = {insight.id for insight, _ in gone}
        keep = [pair for pair in ranked(insights, now, settings.retention) if pair[0].id not in names]
        return ProfilePreview(entries_of(keep), entries_of(gone))

    def _time(self) -> datetime:
        if self.at is None:
            raise InvalidInput("at", "none", "say when: this profile was not read from a memory")
        return self.at

    def _known(self) -> list[Insight]:
        return [entry.insight for entry in (*self.entries, *self.others, *self.beyond)]

    def section(self, name: str) -> ProfileSection:
        """The section of that name.

        Raises:
            NotFound: its template has none, or it has no template.
        """
        for section in self.sections:
            if section.name == name:
                return section
        there = ", ".join([section.name for section in self.sections]) or "none: read it with template=..."
        raise NotFound(f"no section of that name in this profile — there are {there}")

    def as_dict(self) -> dict[str, Any]:
        """The value of each section by its name: a list, one value, or None where nothing is known. Without a template, a list
        of what is known of each kind.
        """
        if self.template is not None:
            return {section.name: section.value for section in self.sections}
        kinds: dict[str, list[str]] = {}
        for insight in self:
            kinds.setdefault(insight.topic, []).append(insight.text)
        return kinds

    def traced(self) -> dict[str, tuple[str, ...]]:
        """The ids of the insights behind each value of `as_dict`, in its order."""
        if self.template is not None:
            return {section.name: section.insight_ids for section in self.sections}
        kinds: dict[str, tuple[str, ...]] = {}
        for insight in self:
            kinds[insight.topic] = (*kinds.get(insight.topic, ()), insight.id)
        return kinds

    @overload
    def to(self, form: type[_T]) -> _T: ...

    @overload
    def to(self, form: Mapping[str, Any]) -> dict[str, Any]: ...

    def to(self, form: type[_T] | Mapping[str, Any]) -> _T | dict[str, Any]:
        """What is known, as an object of a dataclass, or as a dict that a JSON Schema is true of.

        What nothing fills is its default, None or empty. `memory.profile(template=form).traced()` has the insight behind each
        value.

        Raises:
            InvalidInput: the class or schema cannot be met.
        """
        template = template_from(form)
        size = template.size or self.size
        template.check_room(size, "settings.profile_size")
        # What was true at another time may have been superseded since.
        known = map(opened, self._known())
        laid = laid_out(known, template, size=size, now=self._time(), retention=self.retention)
        filled = {section.name: fill(section.holds, [insight for insight, _ in pairs]) for section, pairs in laid.sections}
        if isinstance(form, Mapping):
            from bethink.insights.domains.schemas import object_by

            return object_by(form, filled)
        from bethink.insights.domains.classes import object_of

        return object_of(form, filled)

    def __iter__(self) -> Iterator[Insight]:
        return iter([entry.insight for entry in self.entries])

    def __len__(self) -> int:
        return len(self.entries)


def profile_of(
    subject: str,
    known: Sequence[Insight],
    *,
    now: datetime,
    settings: Settings,
    template: ProfileTemplate | None,
    own: ProfileTemplate | None,
    then: bool = False,
) -> Profile:
    """The profile of a subject, of all that is known of it and nothing else.

    Args:
        template: lays it out; `own` is that of the memory.
        then: what was known is of another time: nothing of it is going to be archived, and some may have been superseded since.
    """
    as_known = {insight.id: insight for insight in known}
    insights = [opened(insight) for insight in known] if then else list(known)

    def entries(scored: Iterable[Scored]) -> tuple[ProfileEntry, ...]:
        return tuple([ProfileEntry(as_known[insight.id], score) for insight, score in scored])

    base = Profile(subject, (), (), now, settings.profile_size, settings.retention, template, own=own)
    if template is None:
        chosen = select_profile(insights, now=now, settings=settings)
        rest = () if then else beyond(insights, now=now, settings=settings)
        return msgspec.structs.replace(base, entries=entries(chosen), beyond=entries(rest))
    laid = laid_out(insights, template, size=template.bound(settings), now=now, retention=settings.retention)
    return msgspec.structs.replace(
        base,
        entries=entries(laid.entries),
        beyond=() if then else entries(laid.beyond),
        sections=tuple([ProfileSection(section, entries(pairs)) for section, pairs in laid.sections]),
        others=entries(laid.others),
    )


def entries_of(scored: Iterable[tuple[Insight, float]]) -> tuple[ProfileEntry, ...]:
    return tuple([ProfileEntry(insight, score) for insight, score in scored])
