"""The page of an audit: well formed, inert, complete without scripts or network, the same bytes, the numbers of the JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from evalstore.audits import Audit
from evalstore.audits.claims import describe_certainty
from evalstore.audits.conditions import AuditReport
from evalstore.audits.wording.answer import write_answer
from evalstore.report import render
from evalstore.report.pages.html import escape_html, read_own
from evalstore.runs import Run
from evalstore.text import escape_ci_commands, make_printable
from tests.audits.conftest import Desk
from tests.audits.test_acceptance import BAN, BRIEF, JUDGED
from tests.report.payloads import PAYLOADS

VOID = {"meta", "br", "input"}
OURS = {
    *("html", "head", "meta", "title", "style", "body", "main", "section", "h1", "h2", "h3", "p", "b", "br", "span", "a"),
    *("ul", "li", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "svg", "rect", "line", "code", "pre"),
    *("text", "tspan", "circle", "script", "noscript", "input", "button"),
    *("details", "summary", "dl", "dt", "dd", "ins", "del", "fieldset", "legend", "label", "select", "option"),
}  # fmt: skip
# Of all addresses elsewhere, a page may lead to that of a commit at a host that we know.
COMMIT_PAGE = re.compile(r"https://(github\.com|gitlab\.com|codeberg\.org|bitbucket\.org)/[\w./-]+/[0-9a-f]{40}")
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "scope", "colspan", "data-name", "role"),
    *("aria-label", "tabindex", "autocomplete", "viewbox", "preserveaspectratio", "x", "y", "x1", "x2", "y1", "y2"),
    *("width", "height", "cx", "cy", "r", "hidden", "type", "value", "data-score", "data-checks", "data-change"),
    *("data-labels", "data-rank", "data-label", "checked"),
}  # fmt: skip


class PageReader(HTMLParser):
    """Reads a page: its elements and attributes, the text of each table row, and the moved questions by class."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.rows: list[list[str]] = []
        self.questions: list[set[str]] = []
        self.style = self.script = self.words = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes += [(key, value or "") for key, value in attrs]
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")
        if tag == "details" and "q" in (found := set((dict(attrs).get("class") or "").split())):
            self.questions.append(found)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"rect", "line", "circle"}
        self.elements.add(tag)
        self.attributes += [(key, value or "") for key, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.style += data
            return
        if self.open and self.open[-1] == "script":
            self.script += data
            return
        self.words += data
        if {"td", "th"} & {*self.open}:
            self.rows[-1][-1] += data


def worsen(desk: Desk) -> tuple[Run, Run]:
    """Score worse answers under a stricter rubric and another judge."""
    desk.judge("1.0.0")
    desk.judge("2.0.0", "HARD", author="Bob")
    desk.rubric("1.0.0", JUDGED, BAN, BRIEF)
    desk.rubric("2.0.0", {**JUDGED, "judge_prompt_ref": "judge/acc@2.0.0"}, {**BAN, "values": ["foo", "ok"]}, BRIEF)
    questions = [{"id": f"q{n}", "input": f"x{n}", "tags": ["odd" if n % 2 else "even"]} for n in range(6)]
    for version in ("1.0.0", "2.0.0"):
        desk.dataset(version, questions)
    return desk.score("1.0.0", ["good ok", "good", "good"] * 2), desk.score(
        "2.0.0", ["ok", "good", "good good"] * 2, "b"
    )


def fail(desk: Desk) -> tuple[Run, Run]:
    """Score answers that the judge fails on."""
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.dataset("1.0.0", 4)
    desk.server.play("400", prompt="boom")
    return desk.score("1.0.0", ["good"] * 4), desk.score("1.0.0", ["boom", "good", "good", "foo"], "b")


def join(desk: Desk) -> tuple[Run, Run]:
    """Repin two questions to a rubric whose facts only the new dataset has."""
    desk.rubric("1.0.0", BAN, BRIEF)
    desk.rubric("1.0.0", {"id": "facts", "kind": "fact_match"}, name="other")
    moved = {"rubric_ref": "rubric/other@1.0.0", "expected_facts": ["zz"]}
    desk.dataset("1.0.0", 6)
    desk.dataset("2.0.0", [{"id": f"q{i}", "input": "x", **(moved if i < 2 else {})} for i in range(6)], "1.0.0")
    return desk.score("1.0.0", ["ok"] * 6), desk.score("2.0.0", ["ok"] * 6)


def stay(desk: Desk) -> tuple[Run, Run]:
    """Score the same answers twice."""
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", 3)
    return desk.score("1.0.0", ["ok"] * 3), desk.score("1.0.0", ["ok"] * 3, "b")


def attack(desk: Desk) -> tuple[Run, Run]:
    """Let every text that comes from outside be hostile, as far as files and judges can carry it."""
    texts = [text for text in PAYLOADS if text.strip() and text.isprintable()]
    every = [text for text in PAYLOADS if not any("\ud800" <= char <= "\udfff" for char in text)]
    desk.server.text = lambda prompt: json.dumps({"score": len(prompt) % 2, "rationale": prompt})
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.rubric("2.0.0", JUDGED, {**BAN, "values": ["foo", *texts]}, author="Eve & \u202e Co")
    questions = [
        {"id": f"q{n} {text}"[:60], "input": text, "tags": [text]} if text in texts else {"id": f"q{n}", "input": "x"}
        for n, text in enumerate(every)
    ]
    for version in ("1.0.0", "2.0.0"):
        desk.dataset(version, questions)
    pairs = [(str(question["id"]), text) for question, text in zip(questions, every, strict=True)]
    return (
        desk.score("1.0.0", {id_: "fine" for id_, _ in pairs}, "<img src=x onerror=alert(1)>"),
        desk.score("2.0.0", dict(pairs), "b"),
    )


STORES: dict[str, Callable[[Desk], tuple[Run, Run]]] = {
    "worsen": worsen, "fail": fail, "join": join, "stay": stay, "attack": attack
}  # fmt: skip


_FOUND: dict[str, Audit] = {}  # audits are values: each store is built once


def make(desk: Desk, name: str) -> Audit:
    if name not in _FOUND:
        _FOUND[name] = desk.repo.audit(*STORES[name](desk), moved=300)
    return _FOUND[name]


def write(found: Audit) -> str:
    return render(AuditReport(found), "html")


def test_a_page_is_the_same_again(desk: Desk) -> None:
    runs = fail(desk)
    assert len({write(desk.repo.audit(*runs, moved=300)) for _ in range(2)}) == 1


def hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def require_inert(page: str) -> PageReader:
    """Assert that a page is well formed, has our elements only, loads nothing, runs our script only, and acts on no reader or log."""
    read = PageReader(page)
    assert read.elements <= OURS
    assert {key for key, _ in read.attributes} <= ATTRIBUTES
    hrefs = {value for key, value in read.attributes if key == "href"}
    links = {value.removeprefix("#") for value in hrefs if not COMMIT_PAGE.fullmatch(value)}
    assert links <= {value for key, value in read.attributes if key == "id" and re.fullmatch("[deo][0-9]+", value)}
    ids = [value for key, value in read.attributes if key == "id"]
    assert len(ids) == len({*ids})
    assert links <= {*ids}
    script = f"script-src {hash_source(read.script)}; worker-src blob:; " if read.script else ""
    assert read.script in {"", read_own("rows.js"), read_own("rows.js") + read_own("labels.js")}
    assert f"default-src 'none'; style-src {hash_source(read.style)}; {script}base-uri 'none'; form-action 'none'" in {
        value for key, value in read.attributes if key == "content"
    }
    assert not re.search(r"url\(|@import|expression", read.style)
    assert escape_ci_commands(page) == page
    assert not [char for char in page if char not in "\n\t" and make_printable(char) != char]
    return read


@pytest.mark.parametrize("name", STORES)
def test_a_page_is_well_formed_and_inert(desk: Desk, name: str) -> None:
    require_inert(write(make(desk, name)))


def test_hostile_texts_are_shown_as_text(desk: Desk) -> None:
    found = make(desk, "attack")
    read = PageReader(write(found))
    assert len(read.questions) == len(found.moved) == found.moved_count > 20
    for moved in found.moved:
        assert make_printable(moved.id) in read.words
        for line in moved.rows[1].output.text.split("\n"):
            assert "\t".join(map(make_printable, line.split("\t"))) in read.words
    assert "Eve & \\u202e Co" in read.words
    said = [check.reason for moved in found.moved for cell in moved.cells for check in cell.checks if check.id == "j"]
    assert any("onerror" in reason for reason in said)
    assert all(make_printable(reason) in read.words for reason in said)


@pytest.mark.parametrize("name", ["worsen", "fail", "join", "stay"])
def test_the_numbers_are_those_of_the_json(desk: Desk, name: str) -> None:
    report = AuditReport(make(desk, name))
    found = json.loads(render(report, "json"))
    read = PageReader(render(report, "html"))
    assert found["sentence"] in read.words
    for side in ("a", "b"):
        ends = [side.upper(), *(f"{found[side][key] * 100:.2f}" for key in ("score", "passes"))]
        wanted = [*ends, f"{found[side]['scored']:,}", found[side]["model"]]
        assert wanted in [[row[0], row[1], row[4], *row[7:]] for row in read.rows if len(row) == 9]
    sums = [row for row in read.rows if len(row) == 9 and row[0] not in {"", "A", "B"}]
    shares = [one for one in found["factors"] if one["changed"] or one["share"]]
    lines = [key for key in ("mix", "no_answer", "judge_errors", "not_reproduced") if found["lines"][key]]
    assert len(sums) == len(shares) + len(lines)
    told = [replace(one, ci=None) for one in report.audit.factors if one.changed or one.share]
    for one, certain, row in zip(shares, map(describe_certainty, told), sums, strict=False):
        assert [row[0], row[1], row[4]] == [one["name"].replace("_", " "), points(one["share"]), points(one["passes"])]
        assert [row[7], row[8]] == [f"{one['moved']} of {found['common']}", certain]
    for key, row in zip(lines, sums[len(shares) :], strict=True):
        assert [row[1], row[4]] == [points(found["lines"][key]), points(found["lines"]["passes"][key])]
    edits = [cause for one in found["factors"] for cause in one["causes"] if cause["moved"]]
    shown = {(row[1], row[2]) for row in read.rows if len(row) == 6}
    assert {(points(edit["share"]), points(edit["passes"])) for edit in edits} <= shown
    assert all(edit["author"] in read.words for edit in edits if edit["author"])


def points(share: float) -> str:
    text = f"{share * 100:+.2f}"
    return "0.00" if float(text) == 0 else text


def test_filters_find_what_they_name(desk: Desk) -> None:
    found = make(desk, "worsen")
    page = write(found)
    read = PageReader(page)
    options = dict(re.findall(r'<option class="o(\w+)">([^<]*)</option>', page))
    for key, label in options.items():
        assert f".list:has(.o{key}:checked) .q:not(.{key}){{display:none}}" in read.style
        expected = {
            "p": lambda one, label=label: label in {name.replace("_", " ") for name in one.shares},
            "t": lambda one, label=label: label in one.tags,
            "f": lambda one, label=label: label == {-1: "pass to fail", 1: "fail to pass", 0: "no flip"}[turn(one)],
            "e": lambda one, key=key: f'href="#{key}"' in page.split(f"<b>{one.id}</b>")[1].split("</details>")[0],
        }[key[0]]
        assert [key in classes for classes in read.questions] == [expected(one) for one in found.moved], label
    assert {key[0] for key in options} == {*"ptef"}


def test_the_answer_the_whiskers_and_the_diff_of_an_edit(desk: Desk) -> None:
    found = make(desk, "worsen")
    page = write(found)
    assert f'<p class="verdict">{escape_html(write_answer(found))}</p>' in page
    # What is exact on these questions has no interval, in the table or over its bar.
    ends = [end for one in found.factors if one.conclusion for end in (one.ci, one.ci_passes) if end]
    labels = re.findall(r'aria-label="[^"]*; interval ', page)
    assert len(labels) == len(ends) > 0
    # The largest share first, between A and B.
    labels = {one.label: abs(one.share) for one in found.factors if one.changed}
    shares = [labels[row[0].strip()] for row in PageReader(page).rows if row and row[0].strip() in labels]
    assert shares == sorted(labels.values(), reverse=True)
    assert shares[1:]
    # From a moved question to what the edit changed.
    question = page.split('<details class="q ')[1].split("</details>")[0]
    key = re.findall(r'<a href="#(d[0-9]+)">its diff</a>', question)[0]
    diff = page.split(f'id="{key}"')[1].split("</div>")[0]
    assert "evalstore diff " in diff
    assert "+ ok" in page.split("The diff of each edit")[1].split("</section>")[0]


def test_a_judges_edit_has_its_old_and_new_text(desk: Desk) -> None:
    desk.judge("1.0.0")
    desk.judge("2.0.0", "HARD")
    for version in ("1.0.0", "2.0.0"):
        desk.rubric(version, {**JUDGED, "judge_prompt_ref": f"judge/acc@{version}"})
        desk.dataset(version, 2)
    found = desk.audit(*(desk.score(version, ["good", "ok"], version[0]) for version in ("1.0.0", "2.0.0")))
    diff = write(found).split("The diff of each edit")[1].split("</section>")[0]
    assert "<del>- Rate: {{ output }}\n</del>" in diff
    assert "<ins>+ HARD: {{ output }}\n</ins>" in diff
    assert "evalstore diff judge/acc@1.0.0 judge/acc@2.0.0" in diff


def turn(moved: Any) -> int:
    return int(moved.rows[1].pass_share - moved.rows[0].pass_share)


def test_the_square_is_what_the_shares_come_from(desk: Desk) -> None:
    found, own = desk.audit(*worsen(desk), asks=True, moved=300), list[Any]()
    assert found.moved
    for moved in found.moved:
        aa, ab, ba, bb = (cell.score for cell in moved.cells)
        assert (aa, bb) == tuple(row.score for row in moved.rows)
        assert sum(effect.score for effect in moved.shares.values()) == bb - aa
        own += (ba - aa, bb - ab)
    assert (sum(own[::2]), sum(own[1::2])) == (found.own.old * found.common, found.own.new * found.common)


def test_a_page_stays_small_and_says_what_it_leaves_out(desk: Desk) -> None:
    found = make(desk, "worsen")
    one = found.moved[0]
    wordy = replace(
        one,
        cells=tuple(
            replace(cell, checks=tuple(check._replace(reason="long " * 100) for check in cell.checks))
            for cell in one.cells
        ),
    )
    many = replace(found, moved=tuple(replace(wordy, id=f"q{n}") for n in range(300)), moved_count=1000)
    page = write(many)
    assert len(page.encode()) < 300_000
    shown = len(PageReader(page).questions)
    assert 50 < shown < 300
    assert f"{1000 - shown} more questions moved" in page
    # Outputs do not count.
    rows = tuple(row._replace(output=row.output._replace(text="x" * 20_000)) for row in one.rows)
    large = replace(found, moved=tuple(replace(one, id=f"q{n}", rows=rows) for n in range(20)))
    assert len(PageReader(write(large)).questions) == 20


def test_one_question_is_a_page_too(desk: Desk, cli: Callable[..., Any]) -> None:
    a, b = (str(run.path) for run in worsen(desk))
    ran = cli("audit", a, b, "--question", "q0", "--format", "html", cwd=desk.repo.root)
    assert ran.code == 0, ran.err
    assert "Why the score changed" in cli("audit", a, b, "--format", "html", cwd=desk.repo.root).out
    read = PageReader(ran.out)
    assert "output of A" in read.words
    view = json.loads(cli("audit", a, b, "--question", "q0", "--format", "json", cwd=desk.repo.root).out)
    scores = [f"{cell['score'] * 100:.2f}" for cell in view["cells"] if cell["score"] is not None]
    assert [cell.split()[0] for row in read.rows for cell in row[1:] if re.match(r"[0-9.]+ ", cell)] == scores


def test_a_missing_answer_and_a_failure_are_named(desk: Desk) -> None:
    read = PageReader(write(make(desk, "fail")))
    assert "Questions that one run could not grade (1)" in read.words
    assert "j failed in B on 1 question" in read.words


@pytest.mark.parametrize("text", ["::error::x", "  ::x", "a\n::b", "##[group]", "####[x]"])
def test_a_page_in_a_log_is_no_command(text: str) -> None:
    assert escape_ci_commands(escape_html(text)) == escape_html(text)
