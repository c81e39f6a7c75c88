"""Files: nothing outside the root, no link followed, no hanging, all or nothing."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from evalstore.errors import LoadError, RefusedError
from evalstore.files import describe_error, list_below, read_below, read_user_file, write_below


def test_reads_and_writes_below_a_root(tmp_path: Path) -> None:
    write_below(tmp_path, "a/b/c.yaml", b"one")
    write_below(tmp_path, "a/b/c.yaml", b"two")
    assert read_below(tmp_path, "a/b/c.yaml", 10) == b"two"
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["c.yaml"]


def test_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    (tmp_path / "f").chmod(0o640)
    write_below(tmp_path, "f", b"y")
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_longer_than_it_says_is_read_whole_or_refused() -> None:
    path = Path("/proc/self/status")
    if not path.exists():
        pytest.skip("no /proc on this system")
    assert len(read_user_file(path, 1 << 20)) > path.stat().st_size
    with pytest.raises(LoadError, match="larger than 10 bytes"):
        read_user_file(path, 10)


@pytest.mark.parametrize("relative", ["link.yaml", "folder/f.yaml", "../outside/f.yaml", "/etc/hostname", "."])
def test_nothing_outside_is_read_or_written(tmp_path: Path, relative: str) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (outside / "f.yaml").write_text("secret")
    (root / "link.yaml").symlink_to(outside / "f.yaml")
    (root / "folder").symlink_to(outside)
    with pytest.raises(LoadError):
        read_below(root, relative, 100)
    with pytest.raises(RefusedError):
        write_below(root, relative, b"changed")
    assert (outside / "f.yaml").read_text() == "secret"


def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(LoadError, match="not a regular file"):
        read_below(tmp_path, "pipe", 10)
    with pytest.raises(RefusedError, match="not a regular file"):
        write_below(tmp_path, "pipe", b"")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 34)
    with pytest.raises(LoadError, match="larger than"):
        read_user_file(tmp_path / "huge", 1 << 20)


@pytest.mark.parametrize("name", ["absent", "."])
def test_what_is_no_file_is_said(tmp_path: Path, name: str) -> None:
    with pytest.raises(LoadError):
        read_user_file(tmp_path / name, 10)


def test_a_folder_that_may_not_be_read_is_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rubrics").mkdir()
    real = os.open

    def closed(path: str, flags: int, *args: int, dir_fd: int | None = None) -> int:
        if path == "rubrics":
            raise PermissionError(13, "Permission denied")
        return real(path, flags, *args, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", closed)
    with pytest.raises(LoadError, match=r"^rubrics: cannot be read: permission denied$"):
        list_below(tmp_path, "rubrics")
    assert list_below(tmp_path, "judges") == []


def test_an_error_without_a_word_of_the_system_has_its_name() -> None:
    assert describe_error(TimeoutError()) == "TimeoutError"
    assert describe_error(OSError("Not here")) == "not here"
    assert describe_error(OSError(errno.EACCES, os.strerror(errno.EACCES))) == "permission denied"
