"""Git's two environments: sealed, so that nothing of a repository runs, or as its user has it.

The second is only for scratch repositories, which have no repository config: there the user's
global config chooses programs and keys.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# A repository's config names programs in dozens of places. These settings, and the short list of
# subcommands that evalstore uses, leave it none to run (git(1), SECURITY; filters and drivers have
# no override and are never reached).
_SEALED_CONFIG = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.sshCommand=false",
    "core.askPass=",
    "core.gitProxy=",
    "core.alternateRefsCommand=",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.useReplaceRefs=false",
    "core.fsync=all",
    "core.quotePath=false",
    "core.bigFileThreshold=4m",  # larger blobs are streamed, so a bomb does not fill git's memory
    "credential.helper=",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "push.gpgSign=false",
    "log.showSignature=false",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "safe.bareRepository=explicit",
    "i18n.logOutputEncoding=UTF-8",
    "i18n.commitEncoding=UTF-8",
    "color.ui=false",
)
_SEALED_VARIABLES = {
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_SSH_COMMAND": "false",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
}
_SEALED_INHERITED = ("PATH", "HOME", "XDG_CONFIG_HOME")

_USER_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsync=all",
    "gc.auto=0",
    "maintenance.auto=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "safe.bareRepository=explicit",
    "i18n.commitEncoding=UTF-8",
    "color.ui=false",
)
_USER_VARIABLES = {
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "C",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "https:ssh:file",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}
# The variables by which agents for keys and passwords, proxies and certificates are found.
_USER_INHERITED = (
    *_SEALED_INHERITED,
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_TERMINAL_PROMPT"),
    *(
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
        "GIT_ASKPASS",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
    ),
    *("SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("GNUPGHOME", "GPG_TTY", "TERM", "USER", "LOGNAME", "DISPLAY", "WAYLAND_DISPLAY", "TMPDIR"),
    *("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"),
    *("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"),
)


class GitEnvironment(NamedTuple):
    """One way to start git: its `-c` settings, its variables, and which of ours it inherits."""

    config: Sequence[str]
    variables: Mapping[str, str]
    inherited: Sequence[str]

    def build_variables(self, env: Mapping[str, str | None]) -> dict[str, str]:
        """Return all variables for git; `env` adds some, and None removes one."""
        # No GIT_DIR, GIT_TRACE or GIT_CONFIG_COUNT of a surrounding hook reaches git.
        inherited = {name: _read_variable(name) for name in self.inherited if name in os.environ}
        variables = {**inherited, **self.variables, **env}
        return {name: value for name, value in variables.items() if value is not None}

    def build_command(self, executable: str, argv: Sequence[str]) -> list[str]:
        """Return the command line, without its environment."""
        options = (word for setting in self.config for word in ("-c", setting))
        return [executable, "--no-pager", *options, *argv]


SEALED = GitEnvironment(_SEALED_CONFIG, _SEALED_VARIABLES, _SEALED_INHERITED)
USER = GitEnvironment(_USER_CONFIG, _USER_VARIABLES, _USER_INHERITED)


def _read_variable(name: str) -> str:
    value = os.environ[name]
    if name != "PATH":
        return value
    # A relative entry would let a folder in the repository supply the programs that git starts.
    return os.pathsep.join(folder for folder in value.split(os.pathsep) if folder.startswith("/"))
