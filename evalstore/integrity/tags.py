"""The release tags of a repository as they lie there: refs listed without their objects, and each object hashed."""

from __future__ import annotations

import re
from typing import NamedTuple

from evalstore.errors import LoadError
from evalstore.model import Kind, PinType, Ref
from evalstore.store import ArtifactStore
from evalstore.store.objects import parse_tag
from evalstore.store.resolve import CommittedArtifact, read_committed
from evalstore.store.tags import TAG_REFS, GitTag, list_patterns
from evalstore.versions import Version

# No field that makes git read an object: one damaged tag would end the listing of all.
_FORMAT = "--format=%(refname)%00%(objectname)%00%(symref)"

_DIGEST = re.compile(rb"^Evalstore-Digest: *([0-9a-f]{64})$", re.MULTILINE)


class ReleaseTag(NamedTuple):
    """A ref whose name is that of a release."""

    tag: str
    oid: str
    symref: str
    kind: Kind
    id: str
    version: Version

    @property
    def ref(self) -> Ref:
        """The reference that means it."""
        return Ref(self.kind, self.id, str(self.version), PinType.EXACT, self.version)


class TagListing(NamedTuple):
    """All refs that stand among the releases, by the tag's name, and those whose name is that of none."""

    releases: dict[str, ReleaseTag]
    others: list[str]


def list_tag_refs(store: ArtifactStore) -> TagListing:
    """List the refs below the folders of releases, by one call to git."""
    names = TagListing({}, [])
    listed = store.git.run("for-each-ref", _FORMAT, "--", *list_patterns(store.tags.grammar))
    for line in listed.split(b"\n")[:-1]:
        ref, oid, symref = line.decode("utf-8", "surrogateescape").split("\0")
        tag = ref.removeprefix(TAG_REFS)
        if release_tag := store.tags.grammar.parse_name(tag):
            names.releases[tag] = ReleaseTag(tag, oid, symref, *release_tag)
        else:
            names.others.append(tag)
    return names


def read_tag_object(store: ArtifactStore, release_tag: ReleaseTag) -> tuple[GitTag, str]:
    """Return a tag as its object says, and the digest that its trailers say, "" without one.

    Raises `GitError` when the object is missing or damaged.
    """
    found = store.objects.read(release_tag.oid)
    if found.type != "tag":
        return GitTag(release_tag.tag, found.type, release_tag.oid, release_tag.symref, "", "", ""), ""
    said = parse_tag(found.data)
    digests = _DIGEST.findall(found.data)
    tag = GitTag(release_tag.tag, found.type, release_tag.oid, release_tag.symref, said.target, said.type, said.name)
    return tag, digests[-1].decode("ascii") if digests else ""


def read_release_file(store: ArtifactStore, release_tag: ReleaseTag, commit: str) -> CommittedArtifact:
    """Return the file of a release at its commit; any `EvalstoreError` when there is none of its id and version."""
    file = read_committed(store, release_tag.ref, commit, label=release_tag.tag)
    if file.artifact.version == str(release_tag.version):
        return file
    place = file.artifact.document.place(("version",))
    raise LoadError(f"the file at its commit has version {file.artifact.version or '(none)'}", place=place)
