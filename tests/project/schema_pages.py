"""Write a page for each format that people read or write, from its schema: every key with type, default and example."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from evalstore.catalogue.schema_topics import SchemaTopic, TopicSort, load_file_topics, load_topics, read_schema
from evalstore.report.explain import format_example

# What each page is about: the root of its topics -> its title, and what the schema does not say.
_FORMATS = {
    "dataset": (
        "Dataset",
        """A dataset is `datasets/<id>.yaml`; a large one keeps its questions in `datasets/<id>.jsonl` next to it, one per
line. `evalstore new dataset ID` writes a small one with comments. [Writing](writing.md) shows how to begin.""",
    ),
    "rubric": (
        "Rubric",
        """A rubric is `rubrics/<id>.yaml`. `evalstore new rubric ID --kind regex` writes a small one with comments.
[Writing](writing.md) shows how to begin.""",
    ),
    "judge": (
        "Judge",
        """A judge is `judges/<id>.yaml`. `evalstore new judge ID` writes a small one with comments.
[Tune judges](tuning.md) shows how to measure one against people.""",
    ),
    "result": (
        "Result",
        """What `score` writes to disk is the run itself: an aggregate and its rows in the format of Every Eval Ever, which
other tools read, too. [Scoring](scoring.md) describes it.""",
    ),
    "settings": (
        "Settings",
        """What people accepted is in `.evalstore/accepted.yaml`, which `evalstore accept` writes: its keys are at the end
of this page.""",
    ),
}
_SCHEMAS = {"settings": "evalstore"}  # root -> the name of its schema, where that is another
_STEPS_OF = "target_match"  # the kind by which the steps of `on` are shown
_LONGEST_EXAMPLE, _LONGEST_PART = 200, 70  # characters: of a key; of one whose own keys have a section with an example


def render_pages() -> dict[str, str]:
    """Return the page of every format, by its name."""
    return {f"{root}.md": "\n".join(_render_format(root)) for root in _FORMATS}


def _render_format(root: str) -> Iterator[str]:
    title, intro = _FORMATS[root]
    topics = _read_topics(root)
    schema = f"{_SCHEMAS.get(root, root)}.schema.json"
    yield f"# {title}\n\n{topics[root].description}\n\n{intro}\n"
    yield f"This page is made from the JSON Schema [`{schema}`](../schema/{schema}).\n"
    yield from _render_mapping(topics, root, f"## Keys of a {root}" if root != "settings" else "## Keys")
    if root == "rubric":
        yield from _render_kinds()
    if root == "settings":
        yield from _render_mapping(_read_topics("accepted"), "accepted", "## Accepted changes")


def _read_topics(root: str) -> Mapping[str, SchemaTopic]:
    """Return the topics of a root; those of a result are of no file that anybody writes, so `explain` has none."""
    return load_file_topics(root, root) if root == "result" else load_topics()


def _render_mapping(topics: Mapping[str, SchemaTopic], root: str, heading: str) -> Iterator[str]:
    """Yield the keys of a file, and below them those of every mapping in it."""
    yield f"{heading}\n\n{_render_example(topics[root])}"
    yield _render_table(_list_keys(topics, root))
    for topic in topics.values():
        if topic.path.startswith(f"{root}.") and topic.keys and topic.path != "rubric.checks":
            yield f"### {topic.path.removeprefix(f'{root}.')}\n\n{topic.description}\n\n{_render_example(topic)}"
            yield _render_table(_list_keys(topics, topic.path))


def _render_kinds() -> Iterator[str]:
    shared = _find_shared_keys()
    said = {_identify(key) for key in shared}
    yield "## Kinds of check\n\nEvery check has a `kind` and these keys. Each kind lists its other keys, and those that mean something else there.\n"
    yield _render_table(shared)
    value = read_schema("rubric")["$defs"]["from_question"]
    yield f"### Values from the question\n\nA rubric is written once if what differs is in each question. {value['description']}\n"
    yield "```yaml\nchecks:\n  - kind: must_contain_any\n    values: {from: must_name}\n```\n"
    yield f"| key | what it means |\n|---|---|\n| `from` | {value['properties']['from']['description']} |\n"
    yield from _render_steps()
    for kind in _list_kinds():
        yield f"### {kind.path}\n\n{kind.description} [Schema](../schema/checks/{kind.path}.schema.json)\n"
        yield _render_example(kind)
        keys = _list_keys(load_topics(), kind.path)
        yield _render_table([key for key in keys if key.name != "kind" and _identify(key) not in said])
        for topic in load_topics().values():
            if topic.path.startswith(f"{kind.path}.") and topic.keys and not _is_of_steps(topic):
                yield f"#### {topic.path}\n\n{topic.description}\n\n{_render_example(topic)}"
                yield _render_table(_list_keys(load_topics(), topic.path))


def _render_steps() -> Iterator[str]:
    """Yield the steps of `on` once, as one of the kinds has them: all have the same."""
    schema, path = read_schema("rubric"), f"{_STEPS_OF}.on"
    topics = load_topics()
    yield f"### Steps before a check\n\n{topics[path].description}\n\n{schema['$defs']['step']['description']}\n"
    yield _render_example(topics[path])
    yield _render_table(_list_keys(topics, path))
    for name in ("json_path", "regex_group", "remove"):
        topic = topics[f"{path}.{name}"]
        yield f"#### on.{name}\n\n{topic.description}\n\n{_render_example(topic)}"
        yield _render_table(_list_keys(topics, topic.path))


def _is_of_steps(topic: SchemaTopic) -> bool:
    return topic.path.split(".")[1:2] == ["on"]


def _list_kinds() -> list[SchemaTopic]:
    return [topic for topic in load_topics().values() if topic.sort is TopicSort.KIND]


def _find_shared_keys() -> list[SchemaTopic]:
    """Return the keys that most kinds describe in the same words; a kind with other words for one has its own row."""
    found = Counter(_identify(key) for kind in _list_kinds() for key in _list_keys(load_topics(), kind.path))
    keys = {_identify(key): key for kind in reversed(_list_kinds()) for key in _list_keys(load_topics(), kind.path)}
    return [keys[one] for one, count in found.items() if count > len(_list_kinds()) / 2]


def _identify(key: SchemaTopic) -> tuple[str, str, str, str | None]:
    return key.name, key.description, key.shape, key.default


def _list_keys(topics: Mapping[str, SchemaTopic], path: str) -> list[SchemaTopic]:
    found = (topics.get(f"{path}.{key.name}") for key in topics[path].keys)
    return [topic for topic in found if topic]


def _render_table(keys: list[SchemaTopic]) -> str:
    head = "| key | what it means |\n|---|---|\n"
    return head + "".join(map(_render_key, keys)) if keys else "It has no other keys.\n"


def _render_key(key: SchemaTopic) -> str:
    facts = [key.shape or "any value", *(["**required**"] if key.required else [])]
    facts += [f"default `{key.default}`"] if key.default else []
    shown = json.dumps(key.example, ensure_ascii=False, default=float)
    # A backtick would end the code, and a text of several lines needs a block.
    if len(shown) <= (_LONGEST_PART if key.keys else _LONGEST_EXAMPLE) and "`" not in shown and "\\n" not in shown:
        facts.append(f"example `{shown}`")
    return f"| `{key.name}` | {_escape(key.description)}<br><small>{_escape(' · '.join(facts))}</small> |\n"


def _escape(text: str) -> str:
    """Return a text for a cell: a bar would end it, and what is in angle brackets would be taken for HTML."""
    parts = text.replace("|", "\\|").replace("\n", " ").split("`")
    return "`".join(part.replace("<", "&lt;") if not index % 2 else part for index, part in enumerate(parts))


def _render_example(topic: SchemaTopic) -> str:
    if topic.path.partition(".")[0] == "result":  # people write the others in YAML; this one is printed
        return f"```json\n{json.dumps(topic.document, indent=2, ensure_ascii=False, default=float)}\n```\n"
    return f"```yaml\n{format_example(topic)}```\n"
