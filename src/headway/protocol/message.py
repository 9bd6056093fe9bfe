"""A sentence that can be said in another language: in English, and as the kind of sentence with the figures in it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What the server says of a job. Whoever has the sentence of this kind in another language puts the figures into it."""

    kind: str
    """Which sentence it is, such as ``course.falls``; of a kind that one does not know, ``text`` says it."""
    figures: dict[str, float | int | str | None] = field(default_factory=dict)
    """The figures in it by name; None where one is not known."""
    text: str
    """The whole sentence in English."""

    @classmethod
    def of(cls, kind: str, text: str, **figures: float | str | None) -> Message:
        """A sentence of a kind, with its figures by name."""
        return cls(kind=kind, figures=dict(figures), text=text)
