"""Says who else can write a file, by the owners and modes of the file and its folder."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path


def find_other_writers(path: Path) -> str | None:
    """Return who, beside this user and the system, can write a file or put another in its place; None for nobody.

    Linked names are not followed; where there is no file, nobody has written it.
    """
    try:
        file, folder = path.lstat(), path.parent.stat()
    except OSError:
        return None
    # In a sticky folder, as /tmp is, nobody replaces the files of others.
    return _find_writers(file) or (None if folder.st_mode & stat.S_ISVTX else _find_writers(folder))


def _find_writers(status: os.stat_result) -> str | None:
    if status.st_mode & stat.S_IWOTH:
        return "everybody on this machine"
    if status.st_uid not in {0, os.geteuid()}:
        return f"the user {_find_user_name(status.st_uid)}"
    if status.st_mode & stat.S_IWGRP and not _is_private_group(status.st_gid, status.st_uid):
        return f"the group {_find_group_name(status.st_gid)}"
    return None


def _is_private_group(gid: int, uid: int) -> bool:
    """Whether a group is of one user alone, as most systems give each user one of the same name."""
    try:
        group, name = grp.getgrgid(gid), pwd.getpwuid(uid).pw_name
    except KeyError:
        return False
    return group.gr_name == name and not set(group.gr_mem) - {name}


def _find_user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _find_group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
