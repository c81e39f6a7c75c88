"""Plans one artifact of a bump: its next version, and the pins that move with it; only reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import NamedTuple

from evalstore.diff import Detail, DiffFinding
from evalstore.documents import encode_document, replace_scalar
from evalstore.errors import RefusedError
from evalstore.model import Artifact
from evalstore.progress import Watch
from evalstore.release.changes.acceptances import ChangePolicy, read_settings_at
from evalstore.release.changes.asked_changes import format_trailer
from evalstore.release.changes.comparison import (
    Load,
    compare_with_release,
    find_base_release,
    list_line_releases,
    name_line,
)
from evalstore.release.changes.drift import MovedReferenceFinder, find_kept_moves, find_moved_level
from evalstore.release.changes.loosenings import find_loosenings
from evalstore.release.changes.version_choice import choose_prerelease, choose_version
from evalstore.release.dependencies.pins import PinMoves, move_artifact_pins, move_row_pin
from evalstore.release.dependencies.validity import (
    check_gradable,
    check_tags_complete,
    require_version,
)
from evalstore.release.transactions.journal import FileChange
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.versions import Bump, Version

# The trailers of a tag that say what made a change count for less.
_OVERRIDE, _ACCEPTED, _LOOSENED = "Evalstore-Override", "Evalstore-Accepted", "Evalstore-Loosened"
_LABELS = {_OVERRIDE: "override", _ACCEPTED: "accepted", _LOOSENED: "loosened"}


class Adjustment(NamedTuple):
    """What made a change count for less: its trailer in the tag's message, and its content."""

    trailer: str
    text: str


@dataclass(frozen=True, slots=True)
class BumpOptions:
    """What to bump: the working files of `refs`, or with `all_` every changed one.

    `level` asks for more than a change needs. `pre` makes pre-releases with that label. With
    `dependents`, the pins of what refers to a released artifact move to its new version, and those
    artifacts are released with it, as their own diff requires. `renumbered` are releases whose
    numbers somebody else has: what is named follows those pins, and no others. Without `tag` the
    versions are committed and not released; without `commit` they are only written. `push` is the
    remote's name, or whether to push to the branch's own. `signature` has git's GIT_AUTHOR_* and
    GIT_COMMITTER_* variables, to override the user's settings. If evalstore.yaml asks for signed
    releases, they are signed without `sign`, too. `today` is the day by which acceptances end;
    without it, those with an end date do not hold. `watch` wraps the iteration over the files that
    are planned (a progress bar), `watch_writing` that over those that are written, and
    `watch_signing` that over the tags that are signed.
    """

    refs: Sequence[str] = ()
    all_: bool = False
    level: Bump | None = None
    pre: str | None = None
    dependents: bool = False
    renumbered: frozenset[str] = frozenset()
    tag: bool = True
    commit: bool = True
    dry_run: bool = False
    message: str | None = None
    sign: bool = False
    push: bool | str = False
    signature: Mapping[str, str] = field(default_factory=dict)
    today: date | None = None
    watch: Watch[Resolved] = iter
    watch_writing: Watch[FileChange] = iter
    watch_signing: Watch[str] = iter


@dataclass(frozen=True, slots=True)
class BumpContext:
    """What planning a step needs: the store, releases by name, loader, options and acceptances."""

    store: ArtifactStore
    releases: Mapping[str, Sequence[Release]]
    load: Load
    options: BumpOptions
    policy: ChangePolicy
    _loosenings: dict[str, tuple[Adjustment, ...]] = field(default_factory=dict)

    def find_known_releases(self, name: str) -> Sequence[Release]:
        """Return the releases of an artifact, ascending."""
        return self.releases.get(name, ())

    def find_base(self, resolved: Resolved, working: Version) -> Release | None:
        """Return the release that a working file with this version continues."""
        name = name_line(self.releases, resolved.artifact)
        if name != resolved.name:  # its own ledger is checked where it is written
            check_tags_complete(self.store, name, self.releases)
        return find_base_release(self.store, self.find_known_releases(name), working)

    def find_moved_level(self, base: Release, name: str) -> Bump:
        """Return the bump that moved floating references need.

        They mean other versions than at the release `base`.
        """
        finder = MovedReferenceFinder(
            self.store, self.releases, self.policy.settings.without_opinions
        )
        return find_moved_level(find_kept_moves(finder, base, name))

    def is_changed(self, base: Release, resolved: Resolved) -> bool:
        """Whether a working file has a change since a release that requires another release."""
        diff = compare_with_release(
            self.store, base, resolved, self.policy, load=self.load, detail=Detail.LEVELS
        )
        return bool(diff.required_bump)

    def list_loosenings(self, base: Release) -> tuple[Adjustment, ...]:
        """Return the settings that allow more than those of the release `base`."""
        if base.commit not in self._loosenings:
            settings = read_settings_at(self.store, base.commit)
            found = find_loosenings(settings, self.store.settings)
            self._loosenings[base.commit] = tuple(
                Adjustment(_LOOSENED, f"{one.now}, was {one.was}") for one in found
            )
        return self._loosenings[base.commit]


@dataclass(frozen=True, slots=True)
class ReleaseStep:
    """One artifact to release: as it is (`resolved`), and as it will be (`artifact`).

    `resolved` is the file in the working tree. `adjustments` are overrides, acceptances, and
    settings loosened since the last release; `asked` is what judges said about the change, if
    somebody asked them.
    """

    resolved: Resolved
    artifact: Artifact
    version: Version
    previous: str | None
    bump: Bump
    moves: PinMoves
    adjustments: tuple[Adjustment, ...] = ()
    asked: str = ""

    @property
    def name(self) -> str:
        """`<kind>/<id>`."""
        return self.resolved.name

    @property
    def ref(self) -> str:
        """`<kind>/<id>@<version>`."""
        return f"{self.name}@{self.version}"

    @property
    def path(self) -> str:
        """The artifact's file, relative to the store."""
        return self.resolved.path

    @property
    def content(self) -> bytes:
        """The bytes of the file as it will be released."""
        return encode_document(self.artifact.document)

    @property
    def adjustment_lines(self) -> tuple[str, ...]:
        """What made its change count for less, a line each."""
        return tuple(f"{_LABELS[trailer]}: {text}" for trailer, text in self.adjustments)

    @property
    def is_edited(self) -> bool:
        """Whether the file changes."""
        return self.artifact is not self.resolved.artifact

    @property
    def summary(self) -> str:
        """The step on one line, with the versions that its pins moved to."""
        step = f"{self.name} {self.previous} -> {self.version} ({self.bump})"
        followed = ", ".join(sorted(set(self.moves.values())))
        return (step if self.previous else f"{self.ref} (first release)") + (
            f", with {followed}" if followed else ""
        )


def plan_step(
    context: BumpContext, resolved: Resolved, moves: PinMoves, *, is_named: bool
) -> ReleaseStep | None:
    """Return the step of a working file with `moves` made in it; None if that needs no release.

    `is_named`: the user named this artifact, and not only what it pins.
    """
    check_gradable(resolved, context.load)
    options, working = context.options, require_version(resolved)
    level = options.level if is_named else None
    if (
        not moves
        and not (level and working.prerelease)
        and is_released_prerelease(context, resolved, working)
    ):
        return None
    # The change is measured with the pins moved: moving a pin changes the artifact that contains
    # it.
    moved = replace(resolved, artifact=move_artifact_pins(resolved.artifact, moves))
    last = context.find_base(resolved, working)
    # A pre-release version in the file is released as written, unless an option asks for another
    # one.
    written = working.with_prerelease(None) if options.pre or level or not is_named else working
    version, bump, asked = written, Bump.NONE, ""
    adjustments: tuple[Adjustment, ...] = ()
    if last is not None:
        rows = (move_row_pin(row, moves) for row in context.store.rows(resolved)) if moves else None
        diff = compare_with_release(
            context.store,
            last,
            moved,
            context.policy,
            load=context.load,
            rows=rows,
            detail=Detail.LEVELS,
        )
        required = max(diff.required_bump, context.find_moved_level(last, resolved.name))
        # Nothing that anyone could notice, and a version that asks for no release.
        if required is Bump.NONE and working <= last.version:
            _check_not_lower(resolved, working, last.version)
            return None
        version, bump = choose_version(last.version, written, required, level if required else None)
        asked = format_trailer(diff.asked) if diff.asked else ""
        adjustments = (*_list_lowered(diff.findings), *context.list_loosenings(last))
    if options.pre:
        version = choose_prerelease(
            version,
            options.pre,
            [one.version for one in list_line_releases(context.releases, resolved.artifact)],
            working,
        )
    previous = str(last.version) if last else None
    artifact = _set_version(moved.artifact, version)
    return ReleaseStep(resolved, artifact, version, previous, bump, moves, adjustments, asked)


def _list_lowered(findings: Iterable[DiffFinding]) -> tuple[Adjustment, ...]:
    lowered = (finding for finding in findings if finding.level < finding.level_before)
    return tuple(dict.fromkeys(map(_describe_lowered, lowered)))


def _describe_lowered(finding: DiffFinding) -> Adjustment:
    reason = _ACCEPTED if finding.accepted else _OVERRIDE
    return Adjustment(reason, f"{finding.rule} from {finding.level_before}")


def check_no_other_changes(context: BumpContext, resolved: Resolved, moves: PinMoves) -> None:
    """Refuse a file that was not named and has other changes.

    Moving its pins would release those changes, too.
    """
    working = require_version(resolved)
    if is_released_prerelease(context, resolved, working):
        return
    last = context.find_base(resolved, working)
    if last is None or working.prerelease or context.is_changed(last, resolved):
        raise RefusedError(
            (
                f"{resolved.name} pins {' and '.join(sorted(moves))}, and has unreleased changes "
                "of its own"
            ),
            place=resolved.artifact.document.locate(),
            hint=f"name {resolved.name} too, to release them with it, or remove --dependents",
        )


def is_released_prerelease(context: BumpContext, resolved: Resolved, working: Version) -> bool:
    """Whether a working file is the same as the released pre-release of its version."""
    if not working.prerelease:
        return False
    known = context.find_known_releases(resolved.name)
    same = [release for release in known if release.version == working]
    return bool(same) and not context.is_changed(same[0], resolved)


def _check_not_lower(resolved: Resolved, working: Version, released: Version) -> None:
    if working < released:
        raise RefusedError(
            f"the version {working} is below the released {released}, and nothing else changed",
            place=resolved.artifact.document.locate(("version",)),
            hint=f"write {released} there again",
        )


def _set_version(artifact: Artifact, version: Version) -> Artifact:
    if artifact.version == str(version):
        return artifact
    edited = replace_scalar(artifact.document, ("version",), str(version))
    return replace(artifact, version=str(version), document=edited)
