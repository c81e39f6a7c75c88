"""What an impact answers; nothing here reads."""

from __future__ import annotations

from dataclasses import dataclass

from evalstore.errors import Place
from evalstore.model import Kind, Ref
from evalstore.versions import Bump


@dataclass(frozen=True, slots=True)
class ReferencePin:
    """One reference between two artifacts: who has it, what it names as it is written, and where it stands first.

    `user` and `target` are `<kind>/<id>`; `release` is the version of who has it, None for a working file. `means` is
    the version that it has today, None where there is none; `follows` are the next releases of its target that it would
    move to by itself, and `locked` says that evalstore.lock keeps it from that.
    """

    user: str
    target: str
    ref: Ref
    place: Place
    places: int
    questions: int
    release: str | None = None
    means: str | None = None
    follows: tuple[Bump, ...] = ()
    locked: bool = False
    scores: bool = True


@dataclass(frozen=True, slots=True)
class Dependent:
    """One artifact that is reached: its working file's version (None: only releases are), and its releases, ascending.

    `distance` counts references on the shortest way; `questions` of `asked` are graded by what is reached.
    """

    name: str
    kind: Kind
    distance: int
    working: str | None
    releases: tuple[str, ...] = ()
    through: tuple[str, ...] = ()
    questions: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class Impact:
    """What depends on an artifact; `version` None: whatever version of it, as the working files say.

    `pins` are the references between the artifacts that are reached, the nearest first; `notes` say what is not known.
    """

    name: str
    version: str | None
    latest: str | None
    dependents: tuple[Dependent, ...]
    pins: tuple[ReferencePin, ...]
    notes: tuple[str, ...] = ()

    def list_of_kind(self, kind: Kind) -> tuple[Dependent, ...]:
        """Return the dependents of one kind."""
        return tuple(one for one in self.dependents if one.kind is kind)

    @property
    def questions(self) -> int:
        """How many questions are graded by it, near or far."""
        return sum(one.questions for one in self.dependents)
