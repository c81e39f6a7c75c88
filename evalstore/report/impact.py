"""What depends on an artifact, as text, JSON, and as a graph for Graphviz or Mermaid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from evalstore.model import Kind
from evalstore.report.screen import PAPER, Screen
from evalstore.report.text_layout import count_noun, format_columns, join_names, wrap_lines

if TYPE_CHECKING:
    from evalstore.references import Dependent, Impact, ReferencePin

_RELEASES = 6
_PLACE = 2  # from the right: the column that a narrow screen does without
_ARROWS = 200  # of one Mermaid graph; GitHub draws none with more than 500
_EVERY = 3  # patch, minor and major


class _GraphArrow(NamedTuple):
    """From an artifact to who refers to it, with all pins in words, and whether one of them floats."""

    target: str
    user: str
    pin: str
    floats: bool


def text(impact: Impact, screen: Screen = PAPER) -> str:
    """Return what refers to it, what that leads to, and the releases that hold it, each a table."""
    artifact = f"{impact.name}@{impact.version}" if impact.version else impact.name
    if not impact.dependents:
        return "\n".join([f"nothing refers to {artifact}", *_format_notes(impact, screen)])
    blocks = [
        f"{artifact}{_latest_release(impact)} reaches {_count_reached(impact)}",
        *_format_table(
            "referred to by", [_direct_row(impact, held) for held in _pins_of_working_files(impact, near=True)], screen
        ),
        *_format_table("through them", [_far_row(one, held) for one, held in _farther_dependents(impact)], screen),
        *_format_table(
            "releases that hold it", [_releases_row(one) for one in impact.dependents if one.releases], screen
        ),
        *_format_notes(impact, screen),
        *("\n".join(wrap_lines(line, width=screen.width, inner="  ")) for line in _next_steps(impact)),
    ]
    return "\n\n".join(blocks)


def document(impact: Impact) -> Any:
    """Return the JSON document."""
    return {
        "ref": impact.name,
        "version": impact.version,
        "latest": impact.latest,
        "reaches": {
            "judges": len(impact.list_of_kind(Kind.JUDGE)),
            "rubrics": len(impact.list_of_kind(Kind.RUBRIC)),
            "datasets": len(impact.list_of_kind(Kind.DATASET)),
            "questions": impact.questions,
        },
        "dependents": [
            {
                "ref": one.name,
                "distance": one.distance,
                "working": one.working,
                "releases": list(one.releases),
                "through": list(one.through),
                "questions": one.questions if one.kind is Kind.DATASET else None,
                "asked": one.total_questions if one.kind is Kind.DATASET else None,
            }
            for one in impact.dependents
        ],
        "pins": [
            {
                "from": held.user,
                "release": held.release,
                "to": held.target,
                "ref": str(held.ref),
                "type": str(held.ref.type),
                "means": held.means,
                "follows": [str(bump) for bump in held.follows],
                "locked": held.locked,
                "scores": held.scores,
                "file": held.place.file,
                "line": held.place.line,
                "places": held.places,
                "questions": held.questions,
            }
            for held in impact.pins
        ],
        "notes": list(impact.notes),
    }


def dot(impact: Impact) -> str:
    """Return a graph for Graphviz: an arrow to who refers, dashed where the reference floats."""
    lines = [f'  "{name}" [label="{label}"];' for name, label in _node_labels(impact, "\\n").items()]
    for arrow in _graph_arrows(impact):
        style = ", style=dashed" if arrow.floats else ""
        lines.append(f'  "{arrow.target}" -> "{arrow.user}" [label="{_escape_dot(arrow.pin)}"{style}];')
    return "\n".join(["digraph impact {", "  rankdir=LR;", "  node [shape=box];", *lines, "}"])


def mermaid(impact: Impact) -> str:
    """Return the nearest references in a Mermaid block, as a pull request shows it; dotted where they float."""
    arrows = list(_graph_arrows(impact))
    shown = arrows[:_ARROWS]
    drawn = {impact.name, *(arrow.user for arrow in shown), *(arrow.target for arrow in shown)}
    lines = [
        f'  {_mermaid_id(name)}["{label}"]' for name, label in _node_labels(impact, "<br>").items() if name in drawn
    ]
    for arrow in shown:
        line = "-.->" if arrow.floats else "-->"
        lines.append(f'  {_mermaid_id(arrow.target)} {line}|"{_escape_mermaid(arrow.pin)}"| {_mermaid_id(arrow.user)}')
    if left := len(arrows) - len(shown):
        lines.append(f'  more["{count_noun(left, "more reference")}"]')
    return "\n".join(["```mermaid", "graph LR", *lines, "```"])


def _latest_release(impact: Impact) -> str:
    return f" (released as {impact.latest})" if impact.latest and not impact.version else ""


def _count_reached(impact: Impact) -> str:
    kinds = (Kind.JUDGE, Kind.RUBRIC, Kind.DATASET)
    counts = [*((len(impact.list_of_kind(kind)), str(kind)) for kind in kinds), (impact.questions, "question")]
    return join_names(count_noun(number, word) for number, word in counts if number)


def _pins_of_working_files(impact: Impact, *, near: bool) -> Iterator[ReferencePin]:
    return (held for held in impact.pins if held.release is None and (held.target == impact.name) is near)


def _farther_dependents(impact: Impact) -> Iterator[tuple[Dependent, Sequence[ReferencePin]]]:
    near = {held.user for held in _pins_of_working_files(impact, near=True)}
    far: defaultdict[str, list[ReferencePin]] = defaultdict(list)
    for held in _pins_of_working_files(impact, near=False):
        far[held.user].append(held)
    return ((one, far[one.name]) for one in impact.dependents if one.name in far and one.name not in near)


def _direct_row(impact: Impact, held: ReferencePin) -> Sequence[str]:
    total = next(one.total_questions for one in impact.dependents if one.name == held.user)
    pin = f"@{held.ref.pin}" if held.ref.pin else "no pin"
    return held.user, pin, _pin_fate(held), _pin_place(held), _share_of_questions(held.questions, total)


def _far_row(one: Dependent, pins: Sequence[ReferencePin]) -> Sequence[str]:
    more = f" (+{len(pins) - 1})" if pins[1:] else ""
    return (
        one.name,
        f"by {pins[0].ref}{more}",
        _pin_place(pins[0]),
        _share_of_questions(one.questions, one.total_questions),
    )


def _share_of_questions(questions: int, total: int) -> str:
    return f"{questions:,} of {count_noun(total, 'question')}" if total else ""


def _releases_row(one: Dependent) -> Sequence[str]:
    newest = list(reversed(one.releases))
    return one.name, join_names(newest, _RELEASES)


def _pin_place(held: ReferencePin) -> str:
    more = f" (+{held.places - 1:,})" if held.places > 1 else ""
    return f"{held.place.file}:{held.place.line}{more}"


def _pin_fate(held: ReferencePin) -> str:
    """Say what becomes of a reference when its target is released again."""
    if not held.scores:
        return "measured on it"
    if held.locked:
        return "stays: locked"
    if held.means is None and held.ref.names_release:
        return "not released"
    if not held.follows:
        return "stays"
    return "follows" if len(held.follows) == _EVERY else f"follows {join_names(held.follows)}"


def _format_table(title: str, rows: Sequence[Sequence[str]], screen: Screen) -> Iterator[str]:
    if rows:
        lines = format_columns(rows).split("\n")
        if len(rows[0]) > _PLACE and max(map(len, lines)) > screen.width - len("  "):
            lines = format_columns([(*row[:-_PLACE], *row[1 - _PLACE :]) for row in rows]).split("\n")
        yield "\n".join([title, *screen.shorten_list([f"  {line}" for line in lines])])


def _next_steps(impact: Impact) -> Iterator[str]:
    pins = [held for held in _pins_of_working_files(impact, near=True) if held.scores]
    stay = sum(not held.follows for held in pins)
    if stay and not impact.version:
        left = f"a next release leaves {stay:,} of {count_noun(len(pins), 'reference')} behind"
        yield f"{left}: evalstore bump {impact.name} --dependents"


def _format_notes(impact: Impact, screen: Screen) -> Iterator[str]:
    for note in impact.notes:
        yield "\n".join(wrap_lines(note, width=screen.width, inner="  "))


def _node_labels(impact: Impact, break_: str) -> Mapping[str, str]:
    """Return the label of every artifact by its name."""
    head = f"{impact.name} {impact.version or impact.latest or ''}".rstrip()
    labels = {
        one.name: one.name
        + (f" {one.working or one.releases[-1]}" if one.working or one.releases else "")
        + (f"{break_}{one.questions} of {count_noun(one.total_questions, 'question')}" if one.total_questions else "")
        for one in impact.dependents
    }
    return {impact.name: head, **labels}


def _graph_arrows(impact: Impact) -> Iterator[_GraphArrow]:
    """Yield each pair of artifacts once, the nearest first."""
    pairs: defaultdict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for held in impact.pins:
        pairs[held.target, held.user][held.ref.pin or "no pin"] = held.ref.is_floating and not held.locked
    for (target, user), pins in pairs.items():
        yield _GraphArrow(target, user, ", ".join(pins), any(pins.values()))


def _mermaid_id(name: str) -> str:
    return name.replace("/", "_")


def _escape_dot(pin: str) -> str:
    return pin.replace("\\", "\\\\").replace('"', '\\"')


def _escape_mermaid(pin: str) -> str:
    return "".join(char if char.isalnum() or char in " .,^~=-" else f"#{ord(char)};" for char in pin)
