"""Judged scoring where everything is odd: the endpoint, the command line, the file of replies, the rulers, the terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evalstore.runs import read_rows, read_run

Cli = Callable[..., Any]
Write = Callable[..., Path]
Many = Callable[..., Path]
SCORE = ("score", "dataset/three@1.0.0")

# What an endpoint does -> what stands in the row, where it does so again and again.
ROWS = {
    "ok": None,
    "parts": None,
    "tool call": None,
    "two tool calls": "the reply has 2 JSON objects with score: which is the answer?",
    "inject": "the reply has 2 JSON objects with score: which is the answer?",
    "length": "the reply was cut off at its maximum length: raise the model's max_tokens",
    "length, nothing": "the reply was cut off at its maximum length: raise the model's max_tokens",
    "filtered": "the reply was held back by the endpoint's content filter",
    "refusal": "the model refused to answer",
    "half a character": "the reply is not JSON, and the judge has no reply_pattern to find the answer",
    "400": "the endpoint refuses the request (400: This model's maximum context length is 8192 tokens.)",
    "413": "the endpoint finds the prompt too long (413: too long)",
    "418": "the endpoint refuses the request (418: [])",
    "429": "the endpoint received too many requests (429: Rate limit reached); tried 2 times",
    "429, wait 0.3": "the endpoint received too many requests (429: Rate limit reached); tried 2 times",
    "500": "the endpoint fails (500: internal); tried 2 times",
    "503": "the endpoint fails (503); tried 2 times",
    "never": "the endpoint did not answer within 3 seconds; tried 2 times",
    "drip": "the endpoint did not answer within 3 seconds; tried 2 times",
    "cut off": "the endpoint breaks the connection: it hung up in the middle of a response",
    "hang up": "the endpoint breaks the connection: it hung up without a response; tried 2 times",
    "not JSON": "the endpoint does not answer with JSON: <html>Welcome to the proxy</html>; tried 2 times",
    "nothing": "the endpoint answers nothing; tried 2 times",
    "deep": "the endpoint does not answer with JSON: [[[",
    "a list": "the endpoint does not answer with a chat completion: []; tried 2 times",
    "no choices": 'the endpoint does not answer with a chat completion: {"id": "1"}; tried 2 times',
    "null content": "the endpoint's answer has no text; tried 2 times",
    "error in a 200": 'the endpoint does not answer with a chat completion: {"error": {"message": "upstream is down", "co',
    "endless": "the endpoint answers with more than 4,194,304 bytes",
    "endless 500": "the endpoint fails (500: xxx",
    "packed": "the endpoint does not answer with JSON: ",
}
# What an endpoint does to all -> the error, and the beginning of its hint.
STOPS = {
    "401": (
        "the endpoint refuses the key (401: Incorrect API key provided: Bearer [key])",
        "look at EVALSTORE_JUDGE_KEY",
    ),
    "402": ("the endpoint requires payment (402: Insufficient credits)", "check the account behind the key"),
    "403": (
        "the endpoint does not allow this (403: <html><h1>Forbidden</h1>\\x1b[2J</html>)",
        "look at EVALSTORE_JUDGE_KEY",
    ),
    "404": (
        "the endpoint knows no such model or path (404: The model `small` does not exist)",
        "look at EVALSTORE_JUDGE_M",
    ),
    "quota": ("the endpoint has no quota left for this account (429: You exceeded your current", "check the account"),
    "redirect": (
        "the endpoint redirects to http://127.0.0.1:9/v1/chat/completions, and evalstore does",
        "if that is the",
    ),
    "never": ("the endpoint did not answer within 0.2 seconds", "allow more time: --judge-timeout"),
    "hang up": (
        "the endpoint breaks the connection: it hung up without a",
        "check EVALSTORE_JUDGE_URL",
    ),
}


def lines(text: str) -> list[str]:
    assert text == "" or text.endswith("\n")
    assert all(line.isprintable() for line in text.splitlines())
    return text.splitlines()


def test_what_an_endpoint_does_stands_in_the_row(cli: Cli, judged: Path, many: Many, judge_server: Any) -> None:
    outputs = many(len(ROWS))
    texts = [f"please <{behaviour}>" for behaviour in ROWS]
    outputs.write_text("".join(json.dumps({"id": f"q{n}", "output": text}) + "\n" for n, text in enumerate(texts)))
    for behaviour in ROWS:
        judge_server.play(behaviour, prompt=re.escape(f"<{behaviour}>"))
    patience = ("--judge-retries", "1", "--judge-timeout", "3", "--judge-jobs", "40")
    argv = (
        "score",
        "dataset/many@worktree",
        outputs,
        "--judge-url",
        judge_server.url,
        "--judge-key",
        "sk-x",
        *patience,
    )
    ran = cli(*argv, cwd=judged)
    assert ran.code == 1
    run = read_run(judged / "runs/many-worktree-many.json")
    assert (run.score, run.ungraded) == (None, f"sound graded 3 of {len(ROWS)}")
    for (behaviour, said), row in zip(ROWS.items(), read_rows(run), strict=True):
        sound, polite = row.checks
        assert str(polite.verdict) == "pass"
        if said is None:
            assert sound.score == Fraction(1, 5), behaviour
        else:
            assert (sound.score, str(sound.unscored)) == (None, "error"), behaviour
            assert sound.reason.startswith(f"judge/accuracy@1.0.0: {said}")
            assert sound.reason.isprintable()
    _, _, _, unreadable, failed, _ = lines(ran.err)
    errors, bodies = len(ROWS) - 3, 7
    assert unreadable.startswith(
        f"warning: sound could not grade {errors} of {len(ROWS)} outputs, first 'q3': judge/acc"
    )
    assert failed.startswith(
        f"warning: judge calls that failed: {errors - bodies}; their checks are unscored, "
        "and the same command asks again (the first: the endpoint "
    )
    judge_server.plays = {"": ["ok"]}  # the endpoint is well again: what failed or cannot be read is asked once more
    before = judge_server.calls
    assert cli(*argv, cwd=judged).code == 0
    assert judge_server.calls == before + errors
    assert read_run(judged / "runs/many-worktree-many-2.json").checks["sound"].errors == 0


@pytest.mark.parametrize("behaviour", STOPS)
def test_what_all_calls_would_meet_ends_the_command(
    behaviour: str, cli: Cli, judged: Path, write: Write, judge_server: Any
) -> None:
    judge_server.play(behaviour)
    timeout = "0.2" if behaviour == "never" else "5"
    options = ("--judge-key", "sk-secret", "--judge-retries", "0", "--judge-timeout", timeout)
    ran = cli(*SCORE, write({"one": "x"}), "--judge-url", judge_server.url, *options, "--format", "json", cwd=judged)
    assert ran.code == 3
    *_, said, hint = lines(ran.err)
    message, todo = STOPS[behaviour]
    assert said.startswith(f"error: {judge_server.url}/v1: {message}")
    assert hint.startswith(f"hint: {todo}")
    assert hint.endswith("; the replies received are kept: fix it and run again, or continue with --offline")
    assert json.loads(ran.out)["error"]["exit_code"] == 3
    assert "sk-secret" not in ran.out + ran.err
    assert not (judged / "runs").exists()


def test_nobody_there(cli: Cli, judged: Path, write: Write) -> None:
    for url in ("http://127.0.0.1:9", "http://[::1]:9/v1/", "http://nobody.invalid"):
        ran = cli(*SCORE, write({"one": "x"}), "--judge-url", url, "--judge-retries", "0", cwd=judged)
        assert ran.code == 3
        assert "the endpoint cannot be reached: " in lines(ran.err)[-2]


FORM = "hint: give http(s)://host[:port][/v1][?api-version=…], without /chat/completions; the key goes into EVALSTORE_JUDGE_KEY"
NO_URL = "error: the URL of the judge's endpoint is not valid"
NO_KEY = "error: the key of the judge's endpoint contains a space or an odd character; did you copy all of it?"
HELP = "hint: see evalstore score --help"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        *(
            ([f"--judge-url={url}"], [NO_URL, FORM])
            for url in (
                *(" ", "ftp://x", "127.0.0.1:80", "/run/x.sock", "http://user:sk-secret@host/v1"),
                *("http://host/v1/chat/completions", "http://x\n", "http://\udcff"),
            )
        ),
        *(([f"--judge-key={key}"], [NO_KEY]) for key in ("a\nb", "\udcff")),
        *(
            ([f"--judge-model={name}"], [f"error: {said} is not a name of a model for judges"])
            for name, said in (("\udcff", r"'\udcff'"), ("a\x1b[2J", r"'a\x1b[2J'"), ("a\nb", r"'a\nb'"))
        ),
        (["--judge-timeout=0"], ["error: Invalid value for '--judge-timeout': 0.0 is not in the range x>0.", HELP]),
        (["--judge-timeout=nan"], ["error: Invalid value for '--judge-timeout': nan is not a number", HELP]),
        (["--judge-timeout=1e300"], ["error: the judge's endpoint has timeout 1e+300; it can be from 0.001 to 86,400"]),
        (
            ["--judge-timeout=60s"],
            ["error: Invalid value for '--judge-timeout': '60s' is not a valid number.", HELP],
        ),
        (["--judge-retries=-1"], ["error: Invalid value for '--judge-retries': -1 is not in the range x>=0.", HELP]),
        (["--judge-retries=99999"], ["error: the judge's endpoint has retries 99999; it can be from 0 to 10,000"]),
        (["--judge-jobs=0"], ["error: Invalid value for '--judge-jobs': 0 is not in the range 1<=x<=256.", HELP]),
        (["--max-calls=-1"], ["error: Invalid value for '--max-calls': -1 is not in the range x>=0.", HELP]),
    ],
)
def test_an_odd_option_is_one_sentence(argv: list[str], said: list[str], cli: Cli, judged: Path, write: Write) -> None:
    ran = cli(*SCORE, write({"one": "x"}), "--judge-url", "http://x", *argv, cwd=judged)
    assert (ran.code, ran.out, lines(ran.err)) == (2, "", said)
    assert not (judged / "runs").exists()


ELSEWHERE = "name another file for the replies (--cache), or move this one away"
AWAY = "remove it, or move it away, or name another (--cache)"


@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        ("folder", "is not a regular file", AWAY),
        ("", "is not a regular file", ELSEWHERE),
        ("fifo", "is not a regular file", AWAY),
        ("link", "is not a regular file", AWAY),
        ("text", "is not a cache of replies", ELSEWHERE),
        ("other.db", "is not a cache of replies", ELSEWHERE),
        ("text/below.db", "cannot be opened: a link or a file is in its path", ELSEWHERE),
        ("x" * 300, "cannot be opened: file name too long", ELSEWHERE),
        ("/proc/x.db", "cannot be opened: no such file or directory", ELSEWHERE),
    ],
)
def test_a_file_that_is_no_cache_is_refused_before_anything_is_asked(
    name: str, said: str, hint: str, cli: Cli, judged: Path, write: Write, judge_server: Any
) -> None:
    (judged / "folder").mkdir()
    os.mkfifo(judged / "fifo")
    (judged / "link").symlink_to("nowhere")
    (judged / "text").write_text("hello")
    with closing(sqlite3.connect(judged / "other.db")) as other:
        other.execute("CREATE TABLE x (a)")
    ran = cli(*SCORE, write({"one": "x"}), "--judge-url", judge_server.url, "--cache", name, cwd=judged)
    assert (ran.code, ran.out, judge_server.calls) == (3, "", 0)
    assert lines(ran.err) == [f"error: {name or '.'}: {said}", f"hint: {hint}"]


@pytest.mark.parametrize("name", ["empty", "new/folder/c.db", "a?b#c%20.db", "a\nb.db", "a\udcff.db", "-c.db"])
def test_an_odd_name_of_a_cache_is_a_name(name: str, cli: Cli, judged: Path, write: Write, judge_server: Any) -> None:
    (judged / "empty").touch()
    for _ in range(2):
        argv = ("--judge-url", judge_server.url, f"--cache={name}", "-q")
        ran = cli(*SCORE, write({"one": "x"}), *argv, cwd=judged)
        assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert judge_server.calls == 1
    assert (judged / name).is_file()


def test_bare_repositories_working_trees_and_folders_below_keep_replies_in_the_one_git_directory(
    cli: Cli, judged: Path, write: Write, judge_server: Any, git: Callable[..., str]
) -> None:
    outputs, place = write({"one": "x"}), judged.parent
    git("worktree", "add", "-q", str(place / "tree"))
    git("clone", "-q", "--bare", ".", str(place / "bare.git"))
    (judged / "datasets/deep").mkdir()
    for where, calls in (("repo", 1), ("tree", 1), ("repo/datasets/deep", 1), ("bare.git", 2), ("bare.git", 2)):
        argv = ("-C", where, *SCORE, outputs, "--out", place / "runs", "--judge-url", judge_server.url, "-q")
        assert cli(*argv, cwd=place).code == 0
        assert judge_server.calls == calls
    found = {str(path.relative_to(place)) for path in place.rglob("replies.db")}
    assert found == {"repo/.git/evalstore/replies.db", "bare.git/evalstore/replies.db"}


OF = "rubric/odd@1.0.0: "
BROKEN_JUDGE = f"error: {OF}judge/odd@1.0.0 is not a valid judge: "
SEE = "hint: see what is wrong: evalstore validate"


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("template: [", ["error: judge/odd@1.0.0:judges/odd.yaml:4:1: the tag judge/odd@1.0.0 is not valid: not YAML"]),
        ("title: none", [f"{BROKEN_JUDGE}it has no template", SEE]),
        ("template: [a]", [f"{BROKEN_JUDGE}its template is not a text", SEE]),
        (
            "template: a\nscale: {min: 1, max: 1}",
            [f"{BROKEN_JUDGE}its scale runs from 1 to 1, so no score fits", SEE],
        ),
        ("template: a\nscale: {max: many}", [f"{BROKEN_JUDGE}'many' is not a number", SEE]),
        ("template: a\nscore_type: stars", [f"{BROKEN_JUDGE}its score_type is 'stars', not one of binary, c", SEE]),
        (
            "template: a\nscore_type: levels",
            [f"{BROKEN_JUDGE}its level_names are not two or more different strings", SEE],
        ),
        (
            "template: a\nscore_type: levels\nlevel_names: [a, b]\nlevel_scores: {c: 0, d: 1}",
            [f"{BROKEN_JUDGE}level_scores does not give a score to exactly the names of level_names", SEE],
        ),
        ("template: a\nmodel: gpt", [f"{BROKEN_JUDGE}its model is not a mapping", SEE]),
    ],
)
def test_a_broken_judge_ends_it_with_its_name_and_that_of_its_rubric(
    judge: str, said: list[str], cli: Cli, judged: Path, write: Write, judge_server: Any, release: Callable[..., Path]
) -> None:
    rubric = "id: odd\nversion: 1.0.0\nchecks: [{kind: llm_judge, judge_prompt_ref: judge/odd@1.0.0}]\nscoring: {combine: min}\n"
    release({"judges/odd.yaml": f"id: odd\nversion: 1.0.0\n{judge}\n", "rubrics/odd.yaml": rubric})
    argv = (*SCORE, write({"one": "x"}), "--rubric", "rubric/odd@1.0.0", "--judge-url", judge_server.url)
    ran = cli(*argv, cwd=judged)
    assert (ran.code, ran.out, judge_server.calls) == (3, "", 0)
    found = lines(ran.err)
    assert all(line.startswith(begin) for line, begin in zip(found, said, strict=False)), found
    assert len(found) == 2


TAG = "is not a valid template tag"


@pytest.mark.parametrize(
    ("check", "judge", "said"),
    [
        ("", "template: '{{> partial }}'", "the template of judge/odd@1.0.0: {{> partial }} " + TAG),
        ("", "template: '{{ ouput }}'", "nothing fills {{ ouput }} in the template of judge/odd@1.0.0"),
        ("", "template: '{{ output'", "the template of judge/odd@1.0.0: a tag is opened and never closed"),
        (", samples: 100000000", "template: a", "it asks 100,000,000 times about one output, and 1,000 is the limit"),
        ("", "template: a\nreply_pattern: '('", "judge/odd@1.0.0: reply_pattern: the pattern does not compile"),
        ("", "template: a\nreply_pattern: 'a'", "judge/odd@1.0.0: reply_pattern: the pattern has no group"),
        (
            "",
            "template: a\nreply_pattern: '(x+)(x+)(x+)\\1y'",
            "judge/odd@1.0.0: reply_pattern can take too many steps on",
        ),
        ("", "template: a\nreply_pattern: '(x)'", ""),
    ],
)
def test_a_judge_that_cannot_judge_is_an_error_of_the_check(
    check: str,
    judge: str,
    said: str | None,
    cli: Cli,
    judged: Path,
    write: Write,
    judge_server: Any,
    release: Callable[..., Path],
) -> None:
    judge_server.text = lambda _: "x" * 5000
    checks = f"checks: [{{kind: llm_judge, judge_prompt_ref: judge/odd@1.0.0{check}}}]"
    rubric = f"id: odd\nversion: 1.0.0\n{checks}\nscoring: {{combine: min}}\n"
    levels = "score_type: levels\nlevel_names: [y, x]\n"
    release({"judges/odd.yaml": f"id: odd\nversion: 1.0.0\n{levels}{judge}\n", "rubrics/odd.yaml": rubric})
    argv = (*SCORE, write({"one": "x"}), "--rubric", "rubric/odd@1.0.0", "--judge-url", judge_server.url)
    ran = cli(*argv, cwd=judged)
    assert ran.code == bool(said)  # nothing else is scored
    assert (f"warning: llm_judge could not grade 1 of 1 outputs, first 'one': {said}" in ran.err) is bool(said)
    (row,) = read_rows(read_run(judged / "runs/three-1.0.0-model_a.json"))
    assert row.checks[0].reason.startswith(said or "judge/odd@1.0.0 x (100)")


def test_a_reference_that_dangles_for_one_question_is_told_with_its_rubric(
    cli: Cli, judged: Path, write: Write, judge_server: Any, release: Callable[..., Path]
) -> None:
    rubric = "id: odd\nversion: 1.0.0\nchecks: [{kind: llm_judge, judge_prompt_ref: judge/acuracy@1.0.0}]\nscoring: {combine: min}\n"
    dataset = (judged / "datasets/three.yaml").read_text().replace("rubric/whole@1.0.0", "rubric/odd@1.0.0")
    release(
        {"rubrics/odd.yaml": rubric, "datasets/odd.yaml": dataset.replace("id: three\nversion", "id: odd\nversion")}
    )
    ran = cli(
        "score", "dataset/odd@1.0.0", write({"one": "x", "three": "y"}), "--judge-url", judge_server.url, cwd=judged
    )
    assert (ran.code, ran.out, judge_server.calls) == (3, "", 0)
    assert lines(ran.err) == [
        "error: rubric/odd@1.0.0: there is no judge/acuracy",
        "hint: did you mean judge/accuracy? released: 1.0.0",
    ]


def test_outputs_of_any_content_are_only_text(cli: Cli, judged: Path, write: Write, judge_server: Any) -> None:
    huge = "x" * 1_000_000
    outputs = {"one": "{{ input }}{{# output }}{{> x }}{{{" * 1000, "two": "\x00\x1b[2J\u2028\u202e", "three": huge}
    argv = ("--rubric", "rubric/sound@1.0.0", "--judge-url", judge_server.url)
    ran = cli(*SCORE, write(outputs), *argv, cwd=judged)
    assert ran.code == 0
    assert lines(ran.err)[0] == "judge calls to make: 3"
    assert {prompt.partition("\n")[2][:-1] for prompt in judge_server.asked} == set(outputs.values())
    broken = write([b'{"id": "one", "output": "a\\ud800b"}'])
    ran = cli(*SCORE, broken, "--judge-url", judge_server.url, cwd=judged)
    assert (ran.code, lines(ran.err)[0]) == (3, f"error: {broken}: holds no output")
    assert "line 1 cannot be read: half a surrogate pair is not text" in ran.err


# On a terminal, which the process first makes its own, so that Ctrl-C is a signal.

ON_TERMINAL = (
    "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); import evalstore.cli.main as cli; cli.main()"
)


def on_terminal(
    repo: Path, *argv: str | Path, keys: bytes = b"", after: bytes = b"", **env: str
) -> tuple[int, str, str]:
    """Run a command with a terminal as stderr and stdin; type `keys` once `after` was shown. Returns code, out, shown."""
    ours, its = pty.openpty()
    command = [sys.executable, "-c", ON_TERMINAL, *map(str, argv)]
    process = subprocess.Popen(
        command,
        cwd=repo,
        env={**os.environ, "TERM": "xterm", **env},
        stdin=its,
        stdout=subprocess.PIPE,
        stderr=its,
        start_new_session=True,
    )
    os.close(its)
    shown, typed, end = b"", not keys, time.monotonic() + 60
    with suppress(OSError):  # of a terminal whose other side is closed
        while data := os.read(ours, 65536):
            shown += data
            assert time.monotonic() < end
            if not typed and after in shown:
                os.write(ours, keys)
                typed = True
    assert process.stdout is not None
    out = process.stdout.read().decode()
    process.stdout.close()
    os.close(ours)
    return process.wait(), out, shown.decode()


@pytest.mark.process
def test_a_bar_is_drawn_on_a_terminal_and_nowhere_else(cli: Cli, judged: Path, many: Many, judge_server: Any) -> None:
    outputs = many(6)
    judge_server.play("500", prompt="please 3")
    argv = ("score", "dataset/many@worktree", outputs, "--judge-url", judge_server.url, "--judge-retries", "0")
    argv = (*argv, "--max-ungraded", "0.1")
    code, out, shown = on_terminal(judged, *argv, "--cache", "a.db", NO_COLOR="1")
    assert code == 0
    assert out.startswith("dataset/many@worktree   many   unreleased\n\nscore ")
    plan, _, drawn = shown.partition("judging")
    assert plan.startswith("judge calls to make: 6\r\n")
    assert "  6/6" in drawn
    assert "failed: 1" in drawn
    assert "\x1b[3" not in shown  # no colour
    assert drawn.index("\x1b[?25h") < drawn.index("warning: ")  # the cursor is back
    elsewhere = cli(*argv, "--cache", "d.db", cwd=judged)
    assert "judging" not in elsewhere.err
    assert "\x1b" not in elsewhere.err


@pytest.mark.slow
def test_no_bar_is_drawn_where_it_is_not_asked_for_or_cannot_be(judged: Path, many: Many, judge_server: Any) -> None:
    argv = ("score", "dataset/many@worktree", many(6), "--judge-url", judge_server.url, "--judge-retries", "0")
    assert on_terminal(judged, *argv, "--cache", "b.db", "--quiet") == (0, "", "")
    for number, env in enumerate(({"TERM": "dumb"}, {"TERM": ""})):
        code, _, shown = on_terminal(judged, *argv, "--cache", f"c{number}.db", **env)
        assert (code, "\x1b" in shown, "judging" in shown) == (0, False, False)
    code, out, _ = on_terminal(judged, *argv, "--cache", "e.db", "--format", "json")
    assert (code, json.loads(out)["questions"]) == (0, 6)


@pytest.mark.chaos
def test_ctrl_c_on_a_terminal_leaves_it_as_it_was(judged: Path, many: Many, judge_server: Any) -> None:
    outputs, judge_server.delay = many(40), 0.1
    argv = ("score", "dataset/many@worktree", outputs, "--judge-url", judge_server.url, "--judge-jobs", "2")
    code, out, shown = on_terminal(judged, *argv, keys=b"\x03", after=b" 4/40")
    assert (code, out) == (130, "")
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    last = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in shown.splitlines()[-2:]]
    assert last[0] == "error: interrupted"
    assert re.fullmatch(
        "hint: replies that came: [0-9]+ of 40; they are kept, and the same command asks for the rest", last[1]
    )
    assert "Traceback" not in shown
