"""Renders what depends on an artifact, as text, JSON, and a graph for Graphviz or Mermaid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from evalstore.model import Kind
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    format_columns,
    join_blocks,
    join_names,
)
from evalstore.text import count_noun

if TYPE_CHECKING:
    from evalstore.release.history.impact import Dependent, Impact, ReferencePin

_RELEASES_LIMIT = 6
_PLACE_COLUMN = 2  # from the right: the column that a narrow screen drops
_ARROWS_LIMIT = 200  # of one Mermaid graph; GitHub draws at most 500
_BUMP_LEVELS = 3  # patch, minor and major


class _GraphArrow(NamedTuple):
    """An arrow from an artifact to one that refers to it.

    It joins all pins between them; `floats` says whether any floats.
    """

    target: str
    user: str
    pin: str
    floats: bool


def text(impact: Impact, screen: Screen = PAPER) -> str:
    """Return tables of what refers to the artifact.

    They have the direct references, the indirect ones, and the releases that refer to it.
    """
    artifact = f"{impact.name}@{impact.version}" if impact.version else impact.name
    if not impact.dependents:
        return "\n".join([f"nothing refers to {artifact}", *screen.wrap(*impact.notes)])
    near = [_direct_row(impact, pin) for pin in _pins_of_working_files(impact, near=True)]
    far = [_far_row(dependent, pins) for dependent, pins in _farther_dependents(impact)]
    released = [_releases_row(dependent) for dependent in impact.dependents if dependent.releases]
    return join_blocks(
        screen.paint(
            Part.HEAD, f"{artifact}{_latest_release(impact)} reaches {_count_reached(impact)}"
        ),
        _format_table("referred to by", near, screen),
        _format_table("through them", far, screen),
        _format_table("releases that refer to it", released, screen),
        *map(screen.wrap, (*impact.notes, *_next_steps(impact))),
    )


def dot(impact: Impact) -> str:
    """Return a graph in Graphviz's DOT.

    Arrows lead to the referring artifact; floating references are dashed.
    """
    lines = [
        f'  "{name}" [label="{label}"];' for name, label in _node_labels(impact, "\\n").items()
    ]
    for arrow in _graph_arrows(impact):
        style = ", style=dashed" if arrow.floats else ""
        lines.append(
            f'  "{arrow.target}" -> "{arrow.user}" [label="{_escape_dot(arrow.pin)}"{style}];'
        )
    return "\n".join(["digraph impact {", "  rankdir=LR;", "  node [shape=box];", *lines, "}"])


def mermaid(impact: Impact) -> str:
    """Return the nearest references as a Mermaid block for a pull request.

    Floating references are dotted.
    """
    arrows = list(_graph_arrows(impact))
    nearest = arrows[:_ARROWS_LIMIT]
    nodes = {impact.name, *(arrow.user for arrow in nearest), *(arrow.target for arrow in nearest)}
    labels = _node_labels(impact, "<br>")
    lines = [f'  {_mermaid_id(name)}["{labels[name]}"]' for name in labels if name in nodes]
    for arrow in nearest:
        line = "-.->" if arrow.floats else "-->"
        lines.append(
            f'  {_mermaid_id(arrow.target)} {line}|"{_escape_mermaid(arrow.pin)}"| '
            f"{_mermaid_id(arrow.user)}"
        )
    if rest := len(arrows) - len(nearest):
        lines.append(f'  more["{count_noun(rest, "more reference")}"]')
    return "\n".join(["```mermaid", "graph LR", *lines, "```"])


def _latest_release(impact: Impact) -> str:
    return f" (released as {impact.latest})" if impact.latest and not impact.version else ""


def _count_reached(impact: Impact) -> str:
    kinds = (Kind.JUDGE, Kind.RUBRIC, Kind.DATASET)
    counts = [
        *((len(impact.list_of_kind(kind)), str(kind)) for kind in kinds),
        (impact.questions, "question"),
    ]
    return join_names(count_noun(number, word) for number, word in counts if number)


def _pins_of_working_files(impact: Impact, *, near: bool) -> Iterator[ReferencePin]:
    return (
        pin for pin in impact.pins if pin.release is None and (pin.target == impact.name) is near
    )


def _farther_dependents(impact: Impact) -> Iterator[tuple[Dependent, Sequence[ReferencePin]]]:
    direct_users = {pin.user for pin in _pins_of_working_files(impact, near=True)}
    farther_pins: defaultdict[str, list[ReferencePin]] = defaultdict(list)
    for pin in _pins_of_working_files(impact, near=False):
        farther_pins[pin.user].append(pin)
    for dependent in impact.dependents:
        if dependent.name in farther_pins and dependent.name not in direct_users:
            yield dependent, farther_pins[dependent.name]


def _direct_row(impact: Impact, pin: ReferencePin) -> Sequence[str]:
    total = next(
        dependent.total_questions for dependent in impact.dependents if dependent.name == pin.user
    )
    version = f"@{pin.ref.pin}" if pin.ref.pin else "no pin"
    return (
        pin.user,
        version,
        _describe_next_release(pin),
        _pin_place(pin),
        _share_of_questions(pin.questions, total),
    )


def _far_row(dependent: Dependent, pins: Sequence[ReferencePin]) -> Sequence[str]:
    more = f" (+{len(pins) - 1})" if pins[1:] else ""
    return (
        dependent.name,
        f"by {pins[0].ref}{more}",
        _pin_place(pins[0]),
        _share_of_questions(dependent.questions, dependent.total_questions),
    )


def _share_of_questions(questions: int, total: int) -> str:
    return f"{questions:,} of {count_noun(total, 'question')}" if total else ""


def _releases_row(dependent: Dependent) -> Sequence[str]:
    newest = list(reversed(dependent.releases))
    return dependent.name, join_names(newest, _RELEASES_LIMIT)


def _pin_place(pin: ReferencePin) -> str:
    more = f" (+{pin.places - 1:,})" if pin.places > 1 else ""
    return f"{pin.place.file}:{pin.place.line}{more}"


def _describe_next_release(pin: ReferencePin) -> str:
    """Return what a new release of the target does to a reference, in words."""
    if not pin.scores:
        return "measured on it"
    if pin.locked:
        return "stays: locked"
    if pin.means is None and pin.ref.names_release:
        return "not released"
    if not pin.follows:
        return "stays"
    return "follows" if len(pin.follows) == _BUMP_LEVELS else f"follows {join_names(pin.follows)}"


def _format_table(title: str, rows: Sequence[Sequence[str]], screen: Screen) -> Iterator[str]:
    if rows:
        lines = format_columns(rows).split("\n")
        if len(rows[0]) > _PLACE_COLUMN and max(map(len, lines)) > screen.width - len("  "):
            lines = format_columns(
                [(*row[:-_PLACE_COLUMN], *row[1 - _PLACE_COLUMN :]) for row in rows]
            ).split("\n")
        yield from (title, *screen.shorten_list([f"  {line}" for line in lines]))


def _next_steps(impact: Impact) -> Iterator[str]:
    pins = [pin for pin in _pins_of_working_files(impact, near=True) if pin.scores]
    stay = sum(not pin.follows for pin in pins)
    if stay and not impact.version:
        verb = "pins" if stay == 1 else "pin"
        sentence = f"{count_noun(stay, 'reference')} {verb} a release; --dependents moves them"
        yield f"{sentence}: evalstore bump {impact.name} --dependents"


def _node_labels(impact: Impact, break_: str) -> Mapping[str, str]:
    """Return the label of every artifact by name."""
    head = f"{impact.name} {impact.version or impact.latest or ''}".rstrip()
    labels = {one.name: _label_dependent(one, break_) for one in impact.dependents}
    return {impact.name: head, **labels}


def _label_dependent(dependent: Dependent, break_: str) -> str:
    label = dependent.name
    if dependent.working or dependent.releases:
        label += f" {dependent.working or dependent.releases[-1]}"
    if dependent.total_questions:
        total = count_noun(dependent.total_questions, "question")
        label += f"{break_}{dependent.questions:,} of {total}"
    return label


def _graph_arrows(impact: Impact) -> Iterator[_GraphArrow]:
    """Yield each pair of artifacts once, nearest first."""
    pairs: defaultdict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for pin in impact.pins:
        pairs[pin.target, pin.user][pin.ref.pin or "no pin"] = (
            pin.ref.is_floating and not pin.locked
        )
    for (target, user), pins in pairs.items():
        yield _GraphArrow(target, user, ", ".join(pins), any(pins.values()))


def _mermaid_id(name: str) -> str:
    return name.replace("/", "_")


def _escape_dot(pin: str) -> str:
    return pin.replace("\\", "\\\\").replace('"', '\\"')


def _escape_mermaid(pin: str) -> str:
    return "".join(
        char if char.isalnum() or char in " .,^~=-" else f"#{ord(char)};" for char in pin
    )
