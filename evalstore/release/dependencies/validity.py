"""What a working file needs to be released.

It must be valid and have a version, and every recorded release must have a tag here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from evalstore.errors import EvalstoreError, LoadError, Place, RefError, RefusedError
from evalstore.files import SMALL_FILE, read_below
from evalstore.model import Artifact, Ref
from evalstore.release.dependencies.references import FindPlace
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.store.ledger import locate_ledger, parse_ledger
from evalstore.store.resolve import build_unknown_error, describe_missing_tag, is_covered
from evalstore.store.working_files import normalize_line_ends
from evalstore.versions import Version, find_version


def check_gradable(resolved: Resolved, load: Callable[[str], Artifact]) -> None:
    """Refuse an artifact that could not grade anything (`RefusedError` at the first place)."""
    from evalstore.lint.notes import describe_note, locate_note
    from evalstore.lint.rubrics import find_obstacles

    note = next(find_obstacles(resolved.artifact, load), None)
    if note is not None:
        raise RefusedError(
            describe_note(note)[0],
            place=locate_note(note, resolved.artifact.document),
            hint="list all that is wrong: evalstore validate",
        )


def check_names_releases(pins: Iterable[tuple[FindPlace, Ref]]) -> None:
    """Refuse a pin (with its place) that names no release, because no release may contain one."""
    for find_place, ref in pins:
        if not ref.names_release:
            raise RefusedError(
                f"{ref} is not a release, and a release may refer only to releases",
                place=find_place(),
                hint=f"pin a release: {ref.name}@<version>",
            )


def check_pins(
    store: ArtifactStore,
    pins: Iterable[tuple[FindPlace, Ref]],
    releases: Mapping[str, Sequence[Release]],
) -> None:
    """Refuse a pin that means no release, and no working file by its version.

    Pins come with their place; `releases` are by name. Raises `RefError` for one that means
    nothing, `RefusedError` for one that names no release.
    """
    seen: set[Ref] = set()
    for find_place, ref in pins:
        if ref in seen:
            continue
        seen.add(ref)
        check_names_releases([(find_place, ref)])
        if any(is_covered(ref, release.version) for release in releases.get(ref.name, ())):
            continue
        draft = _find_working_version(store, ref)
        if draft is None or not is_covered(ref, draft):
            error = build_unknown_error(store, ref)
            raise RefError(error.message, place=find_place(), hint=error.hint)


def _find_working_version(store: ArtifactStore, ref: Ref) -> Version | None:
    try:
        return find_version(store.read_artifact(f"{ref.name}@worktree").version)
    except EvalstoreError:  # what is wrong with that file is reported about that file
        return None


def require_version(resolved: Resolved) -> Version:
    """Return the version of a working file.

    Raises `RefusedError` if there is none, or if it has build metadata.
    """
    version = find_version(resolved.version)
    if version is None:
        place = resolved.artifact.document.locate()
        raise RefusedError(
            "has no version, so it cannot be released", place=place, hint='add version: "1.0.0"'
        )
    if version.build:
        # SemVer sorts 1.0.0+a and 1.0.0+b as equal, so no range or pin could tell them apart.
        raise RefusedError(
            f"the version {version} has build metadata, which no release may have",
            place=resolved.artifact.document.locate(("version",)),
            hint=f"write {version.without_build} there",
        )
    return version


def _read_working_ledger(store: ArtifactStore, name: str) -> bytes:
    """Return the ledger of an artifact as it is on disk.

    It is empty if none can be read.
    """
    try:
        data = read_below(store.root, locate_ledger(name), SMALL_FILE) if store.root else b""
    except LoadError:
        return b""
    return normalize_line_ends(data)


def check_tags_complete(
    store: ArtifactStore, name: str, releases: Mapping[str, Sequence[Release]]
) -> None:
    """Refuse an artifact whose ledger on disk lists a later release than there are tags for.

    `releases`, by name, are those with tags. An unreadable ledger is refused, too. Otherwise the
    next version would be wrong.
    """
    tagged = [release.version for release in releases.get(name, ())]
    check_ledger_complete(store, name, _read_working_ledger(store, name), tagged)


def check_ledger_complete(
    store: ArtifactStore, name: str, ledger: bytes, tagged: list[Version]
) -> None:
    """Refuse an unreadable ledger, and a clone whose tags lack its latest release."""
    parsed = parse_ledger(ledger)
    if parsed.unreadable:
        raise RefusedError(
            "this ledger line is malformed",
            place=Place(locate_ledger(name), parsed.unreadable[0]),
            hint="after a conflict, keep the lines of both sides and remove the markers",
        )
    recorded = max((line.version for line in parsed.lines), default=None)
    if recorded is not None and (not tagged or recorded > max(tagged)):
        raise RefusedError(
            f"{name}@{recorded} was released, but its tag is not in this clone",
            hint=describe_missing_tag(store, name, recorded),
        )
