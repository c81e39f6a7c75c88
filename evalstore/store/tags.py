"""Tags as released versions: listed by one `for-each-ref`, parsed by one grammar, and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from evalstore.errors import GitError
from evalstore.model import Kind
from evalstore.model.refs import ArtifactIdentity, PinType, Ref
from evalstore.store.repository.git import Git
from evalstore.versions import Version, find_version

TAG_REFS = "refs/tags/"
_SINGLE_LOOKUPS = 8  # of 2 ms each; for more, one listing of everything is cheaper
_KINDS = {str(kind): kind for kind in Kind}
# The last three belong to a tag object: what it names, the type of that, and its own name. git
# reads no commit for them.
TAG_FIELDS = ("refname", "objectname", "symref", "objecttype", "object", "type", "tag")
_UNREAD_FORMAT = "--format=%(refname)%00%(objectname)%00%(symref)"
_FORMAT = "--format=" + "%00".join(f"%({field})" for field in TAG_FIELDS)


@dataclass(frozen=True, slots=True)
class Release(ArtifactIdentity):
    """One released version: its tag, the tag object (None for a lightweight tag) and the commit."""

    kind: Kind
    id: str
    version: Version
    tag: str
    tag_object: str | None
    commit: str

    @property
    def ref(self) -> Ref:
        """The reference that means this release and no other."""
        return Ref(self.kind, self.id, str(self.version), PinType.EXACT, self.version)


class GitTag(NamedTuple):
    """One tag as git lists it (not yet hashed); `name` is without `refs/tags/`."""

    name: str
    oid: str
    symref: str
    type: str
    target: str
    target_type: str
    inner_name: str

    @property
    def flaw(self) -> str | None:
        """Why this tag is not a release, as the end of a sentence; None if it is one.

        A release names a commit under its own name.
        """
        if self.symref:
            return "is a symbolic ref to another ref"
        if self.type == "commit":
            return None
        if self.type != "tag":
            return f"names a {self.type}, not a commit"
        if self.inner_name != self.name:
            return f"contains a tag object made for {self.inner_name!r}"
        return None if self.target_type == "commit" else f"names a {self.target_type}, not a commit"

    @property
    def commit(self) -> str:
        """The commit that a flawless tag names."""
        return self.target or self.oid


class TagRef(NamedTuple):
    """The object that a tag's ref names, not read yet, and the ref that it points to ("": none)."""

    oid: str
    symref: str


class TagGrammar(NamedTuple):
    """The names of tags, `<prefix><kind>/<id>@<version>`, with a literal prefix."""

    prefix: str
    pattern: re.Pattern[str]

    @classmethod
    def from_prefix(cls, prefix: str) -> TagGrammar:
        """Return the grammar for a prefix: the expression that a name must match in full."""
        kinds = "|".join(Kind)
        text = (
            rf"{re.escape(prefix)}({kinds})/([a-z][a-z0-9_]{{0,63}})"
            r"@([0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*)"
        )
        return cls(prefix, re.compile(text, re.ASCII))

    def format_name(self, kind: Kind, id_: str, version: Version) -> str:
        """Return the name of one version's tag."""
        return self.prefix + kind + "/" + id_ + "@" + str(version)

    def parse_name(self, name: str) -> tuple[Kind, str, Version] | None:
        """Parse the name of a tag; None if it is outside the grammar."""
        match = self.pattern.fullmatch(name)
        version = find_version(match[3]) if match else None
        return (_KINDS[match[1]], match[2], version) if match and version else None

    def read_release(self, tag: GitTag) -> Release | None:
        """Return the release of a tag.

        Returns None if its name does not fit the grammar or it has a flaw.
        """
        parts = self.parse_name(tag.name)
        if parts is None or tag.flaw:
            return None
        return Release(*parts, tag.name, tag.oid if tag.target else None, tag.commit)


class TagIndex(NamedTuple):
    """Tags by name, releases by artifact (ascending), and ignored tags (name, reason)."""

    tags: Mapping[str, GitTag]
    releases: Mapping[tuple[Kind, str], Sequence[Release]]
    ignored: Sequence[tuple[str, str]]


@dataclass(slots=True)
class Tags:
    """The tags of one repository, first looked up one by one, later listed at once."""

    git: Git
    grammar: TagGrammar
    _all: TagIndex | None = None
    _unread: dict[str, TagRef] | None = None
    _question_count: int = 0
    _named: dict[str, GitTag] = field(default_factory=dict)  # what was listed for single artifacts

    def find(self, name: str) -> GitTag | None:
        """Return the tag of exactly this name; a branch or file of that name does not count."""
        if found := self._named.get(name):
            return found
        index = self._all or self._list_matching(TAG_REFS + name)
        return index.tags.get(name)

    def list_releases(self, kind: Kind | None = None, id_: str | None = None) -> list[Release]:
        """Return the releases of one artifact, one kind or all, ascending."""
        index = self._list_matching(*list_patterns(self.grammar, kind, id_))
        releases = index.releases
        if kind and id_:
            self._named.update(index.tags if self._all is None else {})
            return list(releases.get((kind, id_), ()))
        keys = [key for key in sorted(releases) if kind in {None, key[0]}]
        return [release for key in keys for release in releases[key]]

    def list_ignored(self) -> Sequence[tuple[str, str]]:
        """Return (name, reason) of every tag among the releases that is not a release."""
        return self._list_matching(*list_patterns(self.grammar)).ignored

    def list_unread(self) -> Mapping[str, TagRef]:
        """Return all tags among the releases by name, listed once; reads no object."""
        # With a field that makes git read an object, one damaged tag would end the listing of all.
        if self._unread is None:
            out = self.git.run("for-each-ref", _UNREAD_FORMAT, "--", *list_patterns(self.grammar))
            rows = (
                line.split("\0") for line in out.decode("utf-8", "surrogateescape").split("\n")[:-1]
            )
            self._unread = {ref[len(TAG_REFS) :]: TagRef(oid, symref) for ref, oid, symref in rows}
        return self._unread

    def find_oid(self, name: str) -> str | None:
        """Return the object (tag or commit) that the tag of exactly this name refers to."""
        if self._unread is not None:
            return ref.oid if (ref := self._unread.get(name)) else None
        return tag.oid if (tag := self.find(name)) else None

    def forget(self) -> None:
        """Forget the listings because a tag was made or moved; they are read again when needed."""
        self._all, self._unread, self._question_count, self._named = None, None, 0, {}

    def _list_matching(self, *refs: str) -> TagIndex:
        self._question_count += 1
        # Patterns of several kinds cost as much as a listing of everything.
        if self._all is None and (self._question_count > _SINGLE_LOOKUPS or len(refs) > 1):
            self._all = self._list(*list_patterns(self.grammar))
        return self._all or self._list(*refs)

    def _list(self, *refs: str) -> TagIndex:
        return _sort_tags(
            self.grammar, _parse_tags(self.git.run("for-each-ref", _FORMAT, "--", *refs))
        )


def _sort_tags(grammar: TagGrammar, tags: Iterable[GitTag]) -> TagIndex:
    by_name = {tag.name: tag for tag in tags}
    releases: dict[tuple[Kind, str], list[Release]] = {}
    ignored: list[tuple[str, str]] = []
    for tag in by_name.values():
        if release := grammar.read_release(tag):
            releases.setdefault((release.kind, release.id), []).append(release)
        else:
            ignored.append(
                (tag.name, tag.flaw or "its name is not <kind>/<id>@<MAJOR.MINOR.PATCH>")
            )
    for group in releases.values():
        if len(group) > 1:
            group.sort(key=attrgetter("version"))
    return TagIndex(by_name, releases, ignored)


def list_patterns(
    grammar: TagGrammar, kind: Kind | None = None, id_: str | None = None
) -> list[str]:
    """Return the ref patterns that cover an artifact, a kind or all kinds."""
    if kind and id_:
        return [f"{TAG_REFS}{grammar.prefix}{kind}/{id_}@*"]
    return [f"{TAG_REFS}{grammar.prefix}{kind}/" for kind in ([kind] if kind else Kind)]


def _parse_tags(listing: bytes) -> Iterator[GitTag]:
    # Split on line feeds only: for str.splitlines, U+2028 in a name would make two refs of one.
    for line in listing.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        fields = line.split("\0")
        if len(fields) != len(TAG_FIELDS):
            raise GitError("git lists a tag in an unreadable form")
        yield GitTag(fields[0].removeprefix(TAG_REFS), *fields[1:])


def find_last_release(releases: Sequence[Release]) -> Release | None:
    """Return the highest release that is not a pre-release."""
    return next((release for release in reversed(releases) if not release.version.prerelease), None)
