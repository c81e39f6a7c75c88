"""Random damage to refs, objects, ledgers and the lock: where verify finds nothing, everything is what it was."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from evalstore.errors import EvalstoreError
from evalstore.release.verify import Verification, verify
from evalstore.store import ArtifactStore
from evalstore.store.release_reader import ReleaseReader
from tests.rows import mark_slow

from .conftest import World, rubric

HELD = ("rubric/tone@1.0.0", "rubric/tone@1.1.0", "rubric/tone@^1", "judge/accuracy@1.0.0")
PINS = (*HELD, "rubric/tone@2.0.0", "rubric/other@1.0.0", "dataset/answers@1.0.0")
SHORT, LONG = 12, 1000


def tags(world: World) -> list[str]:
    return world.git("tag", "--list").split()


def objects(world: World) -> list[str]:
    return sorted(path.parent.name + path.name for path in (world.path / ".git/objects").glob("??/*"))


def flipped(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ random.randrange(1, 256)]) + data[at + 1 :]


def point(world: World, random: Random) -> None:
    world.git("update-ref", f"refs/tags/{random.choice(tags(world))}", random.choice(objects(world)))


def retag(world: World, random: Random) -> None:
    world.git(
        "tag", "-f", "-a", "-m", "x", random.choice(tags(world)), random.choice(world.git("rev-list", "HEAD").split())
    )


def evil(world: World, random: Random) -> None:
    tag = random.choice([tag for tag in tags(world) if tag.startswith("rubric/tone@")])
    world.git("tag", "-f", "-a", "-m", "x", tag, world.evil(tag.partition("@")[2]))


def delete(world: World, random: Random) -> None:
    world.git("tag", "-d", random.choice(tags(world)))


def invent(world: World, random: Random) -> None:
    version = f"{random.randrange(4)}.{random.randrange(9)}.9"
    world.git("tag", "-a", "-m", "x", f"rubric/tone@{version}", world.evil(version))


def forge(world: World, random: Random) -> None:
    path = world.loose(random.choice(objects(world)))
    path.chmod(0o644)
    raw = zlib.decompress(path.read_bytes())
    start = raw.index(b"\0") + 1
    path.write_bytes(zlib.compress(raw[:start] + flipped(raw[start:], random)))


def damage(world: World, random: Random) -> None:
    path = world.loose(random.choice(objects(world)))
    path.chmod(0o644)
    path.write_bytes(flipped(path.read_bytes(), random))


def lose(world: World, random: Random) -> None:
    world.loose(random.choice(objects(world))).unlink()


def replace(world: World, random: Random) -> None:
    world.git("replace", "-f", *random.sample(objects(world), 2), check=False)


def set_back(world: World, random: Random) -> None:
    world.git("update-ref", "refs/heads/main", random.choice(world.git("rev-list", "HEAD").split()))


def ledger(world: World, random: Random) -> None:
    path = random.choice(sorted((world.path / ".evalstore/sums").rglob("*/*")))
    lines = path.read_bytes().splitlines(keepends=True)
    random.shuffle(lines)
    changed = [flipped(path.read_bytes(), random), b"".join(lines), b"".join(lines[:-1])]
    path.write_bytes(random.choice(changed))
    world.git("commit", "-q", "--allow-empty", "-a", "-m", "x", check=False)


def lock(world: World, random: Random) -> None:
    path = world.path / "evalstore.lock"
    lines = path.read_bytes().splitlines(keepends=True)
    cut = random.randrange(len(lines))
    path.write_bytes(random.choice([flipped(path.read_bytes(), random), b"".join(lines[:cut] + lines[cut + 1 :])]))


def redraft(world: World, random: Random) -> None:
    world.write("rubrics/tone.yaml", rubric(version="2.0.0", word=f"draft {random.random()}"))


WAYS = (point, retag, evil, delete, invent, forge, damage, lose, replace, set_back, ledger, lock, redraft)


def answers(store: ArtifactStore) -> dict[str, str]:
    found = {}
    for pin in PINS:
        try:
            found[pin] = store.resolve(pin).digest
        except EvalstoreError:
            found[pin] = "refused"
    return found


def told(folder: Path) -> object:
    """Return what verify says of a store, or the words with which it ends."""
    try:
        with ArtifactStore.open(folder) as store:
            return verify(store)
    except EvalstoreError as error:
        return str(error)


def check(template: Path, folder: Path, seed: int) -> tuple[list[str], bool]:
    """Damage a copy in one to three ways; return which, and whether verify said anything."""
    random = Random(seed)  # noqa: S311  # damage, and no secret
    shutil.copytree(template, folder, symlinks=True)
    world = World(folder)
    before = world.ask(answers)
    ways = [random.choice(WAYS) for _ in range(random.randrange(1, 4))]
    for way in ways:
        try:
            way(world, random)
        except (AssertionError, IndexError, OSError, ValueError, zlib.error):  # an earlier one leaves no room for it
            continue
    names = [way.__name__ for way in ways]
    said = told(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReleaseReader, "find", lambda *_: None)
        assert told(folder) == said, (seed, names)  # releases that are read by the hundred are as each by itself
    found = not (isinstance(said, Verification) and said.ok)
    try:
        with ArtifactStore.open(folder) as store:
            after = answers(store)
    except EvalstoreError:
        return names, True
    if "lock" not in names:  # whoever writes the lock may let a range go on
        assert [pin for pin in HELD if after[pin] not in {before[pin], "refused"}] == [], (seed, names)
    assert found or after == before, (seed, names)
    return names, found


@pytest.mark.parametrize("format_", ["sha256", mark_slow("sha1")])
def test_what_verify_does_not_find_changed_nothing(
    templates: Callable[[str], Path], tmp_path: Path, format_: str
) -> None:
    checked = [check(templates(format_), tmp_path / str(seed), seed) for seed in range(SHORT)]
    assert sum(found for _, found in checked) > SHORT / 2


@pytest.mark.slow
def test_what_verify_does_not_find_changed_nothing_long(templates: Callable[[str], Path], tmp_path: Path) -> None:
    for seed in range(LONG):
        check(templates("sha1"), tmp_path / str(seed), seed)
        shutil.rmtree(tmp_path / str(seed))
