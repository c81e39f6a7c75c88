"""What evalstore wrote and reads again: nothing that another user could have written, and nothing through a link."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from evalstore.errors import RefusedError
from evalstore.own_files import create_own, has_own, open_lock, open_own, read_own, write_own

NAME = "state/journal.json"
SOMEBODY = 54321


@pytest.fixture
def own(tmp_path: Path) -> Path:
    write_own(tmp_path, NAME, b"ours")
    return tmp_path


def make_link(root: Path) -> None:
    (root / NAME).rename(root / "elsewhere")
    (root / NAME).symlink_to(root / "elsewhere")


def link_folder(root: Path) -> None:
    (root / "state").rename(root / "other")
    (root / "state").symlink_to(root / "other")


def make_pipe(root: Path) -> None:
    (root / NAME).unlink()
    os.mkfifo(root / NAME)


SPOILT: dict[str, tuple[Callable[[Path], object], str]] = {
    "a file that everybody can write": (
        lambda root: (root / NAME).chmod(0o666),
        r"journal\.json: everybody on this machine can write it",
    ),
    "a folder that everybody can write": (
        lambda root: (root / "state").chmod(0o777),
        r"state: everybody on this machine can write it",
    ),
    "a link": (make_link, "a link or a file is in its path"),
    "a folder behind a link": (link_folder, "a link or a file is in its path"),
    "a pipe": (make_pipe, "is not a regular file"),
}
if os.geteuid() == 0:  # only root can give a file away
    SPOILT |= {
        f"{part} of another user": (
            lambda root, name=name: os.chown(root / name, SOMEBODY, SOMEBODY),  # type: ignore[misc]
            f"the user {SOMEBODY} can write it",
        )
        for part, name in (("a file", NAME), ("a folder", "state"))
    } | {
        "a file of a group": (
            lambda root: (os.chown(root / NAME, 0, SOMEBODY), (root / NAME).chmod(0o664)),
            f"the group {SOMEBODY} can write it",
        )
    }


@pytest.mark.parametrize("case", SPOILT)
def test_what_others_could_have_written_is_not_read(own: Path, case: str) -> None:
    spoil, sentence = SPOILT[case]
    spoil(own)
    for use in (read_own, lambda root, name, _: has_own(root, name)):
        with pytest.raises(RefusedError, match=sentence) as raised:
            use(own, NAME, 100)
        assert raised.value.hint
        assert "\n" not in str(raised.value)


def test_what_is_ours_is_read_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_own(tmp_path, NAME, b"ours")
        create_own(tmp_path, "state/deeper/new", b"new")
        os.close(open_lock(tmp_path, "state/lock", make=True))
    finally:
        os.umask(before)
    assert (read_own(tmp_path, NAME, 100), read_own(tmp_path, "state/deeper/new", 100)) == (b"ours", b"new")
    assert not has_own(tmp_path, "state/nothing")
    assert not has_own(tmp_path, "nothing/at/all")
    with pytest.raises(FileExistsError):
        create_own(tmp_path, NAME, b"theirs")


def test_a_file_of_others_in_a_folder_of_all_is_not_read(own: Path) -> None:
    (own / "state").chmod(0o1777)  # sticky, as /tmp is: nobody replaces the files of others
    assert read_own(own, NAME, 100) == b"ours"


def test_what_is_swapped_meanwhile_is_not_believed(own: Path) -> None:
    theirs, aside, ends = own / "theirs", own / "aside", threading.Event()
    theirs.mkdir()
    (theirs / "journal.json").write_bytes(b"theirs")
    theirs.chmod(0o777)

    def swap() -> None:
        while not ends.is_set():
            (own / "state").rename(aside)
            theirs.rename(own / "state")
            (own / "state").rename(theirs)
            aside.rename(own / "state")

    swapper = threading.Thread(target=swap)
    swapper.start()
    found = set()
    try:
        for _ in range(2000):
            try:
                with open_own(own, NAME) as file:
                    found.add(file.read())
            except (RefusedError, FileNotFoundError) as error:
                found.add(type(error).__name__.encode())
    finally:
        ends.set()
        swapper.join()
    assert found <= {b"ours", b"RefusedError", b"FileNotFoundError"}
    assert b"RefusedError" in found
