"""The profile: what is known of one subject now, within its bound, and what would leave it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from bethink.errors import InvalidInput
from bethink.records import Insight
from bethink.settings import Retention, Settings
from bethink.values import utc

__all__ = ["Profile", "ProfileEntry", "ProfilePreview", "entries_of"]


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


class Profile(msgspec.Struct, frozen=True):
    """The current insights about one subject, best kept first; at most `settings.profile_size` of them, or as many as are
    exempt.

    Attributes:
        beyond: those that no longer have a place among them, which the next end of a session archives.
        at: when it was read.
        size, retention: the settings that it was chosen by.
    """

    subject: str
    entries: tuple[ProfileEntry, ...]
    beyond: tuple[ProfileEntry, ...] = ()
    at: datetime | None = None
    size: int = Settings().profile_size
    retention: Retention = Retention()

    def preview(
        self, at: datetime | None = None, *, size: int | None = None, retention: Retention | None = None
    ) -> ProfilePreview:
        """What the end of a session would keep and archive, if nothing is said or used till then. Nothing is written.

        Args:
            at: when the session would end; aware. By default when the profile was read.
            size, retention: settings to try instead of the memory's own.
        """
        from bethink.insights.retention import beyond, first_hand, select_profile

        now = self.at if at is None else utc(at, "at")
        if now is None:
            raise InvalidInput("at", "none", "say when: this profile was not read from a memory")
        settings = Settings(profile_size=self.size if size is None else size, retention=retention or self.retention)
        insights = [entry.insight for entry in (*self.entries, *self.beyond)]
        gone = beyond(filter(first_hand, insights), now=now, settings=settings)
        names = {insight.id for insight, _ in gone}
        kept = msgspec.structs.replace(settings, profile_size=max(1, len(insights)))
        keep = [pair for pair in select_profile(insights, now=now, settings=kept) if pair[0].id not in names]
        return ProfilePreview(entries_of(keep), entries_of(gone))

    def __iter__(self) -> Iterator[Insight]:
        return iter([entry.insight for entry in self.entries])

    def __len__(self) -> int:
        return len(self.entries)


def entries_of(scored: Iterable[tuple[Insight, float]]) -> tuple[ProfileEntry, ...]:
    return tuple([ProfileEntry(insight, score) for insight, score in scored])
