"""The house's words (CONTRIBUTING.md, Names): what a name must be so that a newcomer can grep for what the thing is."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import evalstore

PACKAGE = Path(evalstore.__file__).parent

# What a public function may begin with, beside the prepositions of conversions and the questions.
VERBS = frozenset(
    """
    accept add allow append apply arrange ask assert assign attach attribute audit await begin bind bisect blame
    bound break build bump call cap carry check choose claim classify clean clear close coerce collect combine commit
    compare compile complete compose compute connect consume contain convert copy count cover create cross cut date
    decide declare decode decrypt dedupe deduplicate define delete demand derive describe detect determine digest
    discard discover display distribute divide document draft drain draw drop dump echo edit emit encode end enforce
    enter enumerate escape estimate evaluate excerpt exclude execute exit expand expect explain export extend extract
    fail fetch fill filter find finish fit fix flatten flip fold follow forget fork format gather generate get give
    go grade group guard guess halve handle hash hide highlight hold identify ignore import impute include indent
    index infer init inline insert inspect install instantiate intersect invert iterate join judge keep label land
    lay learn leave lex limit link list listen load locate lock log look lower make map mark match measure mention
    merge migrate minimize mirror move multiply name narrow negate normalize note notify number observe occur omit
    open order overlap pack pad pair parse partition pass pick pin place plan play point pop post prefix prepare
    prevent preview print probe produce project propagate propose prove provide prune publish pull push put quote
    raise rank read reask rebuild recall recognize record recover reduce refer refuse register reject relate release
    relax reload remember remove rename render reorder repair repeat replace replay reply report request require
    rescale reserve reset resolve restore restrict resume retry return reuse reverse review rewrite root round run
    sample satisfy save say scale scan score search seek select send separate serialize serve set settle share
    shift shorten show shrink shut sift sign simplify simulate skip slice slug sort spell spend split stage stamp
    start state stop store stream strip submit substitute subtract suggest sum summarize supply support suppress
    swap sweep take tally tell test tidy tighten touch trace track translate transpose trim truncate try turn
    unescape unify unlink unlock unpack unquote unwrap update upgrade use validate verify view visit wait walk warn
    watch weigh widen win wrap write yield zip
    """.split()
)
QUESTIONS = frozenset("is are has have can could may must needs should was were does do knows holds".split())
CONVERSIONS = frozenset("from to as with on at".split())  # from_json, to_dict, as_posix, with_dependents, on_error

PARTICIPLES = frozenset(
    """
    told held taken shown said heard given kept gathered found made known seen worded written left sent built drawn
    gone done lost met paid laid brought bought thought meant felt run begun born chosen drawn fallen forgotten frozen
    grown hidden spoken stolen thrown worn stood understood
    """.split()
) - {"found", "run"}  # to found, to run
NO_PARTICIPLES = frozenset("need proceed exceed succeed embed feed seed shed string ring bring".split())

# Names that stay as they are, each with the reason. This list may only shrink.
ALLOWED: dict[str, str] = {}
MOST = 40


class Function(NamedTuple):
    """A function or method: where, its name with its class, and whether it is a property."""

    module: str
    qualified: str
    is_property: bool

    @property
    def name(self) -> str:
        return self.qualified.rpartition(".")[2]

    @property
    def words(self) -> list[str]:
        return [word for word in self.name.split("_") if word]

    @property
    def key(self) -> str:
        return f"{self.module}:{self.qualified}"


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text("utf-8"))


def classes() -> Iterator[tuple[str, str]]:
    for module, tree in modules():
        yield from ((module, node.name) for node in tree.body if isinstance(node, ast.ClassDef))


def functions() -> list[Function]:
    def within(body: list[ast.stmt], prefix: str) -> Iterator[Function]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from within(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                decorators = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
                yield Function(module, prefix + node.name, bool(decorators & {"property", "cached_property"}))
            elif isinstance(node, ast.If):
                yield from within(node.body, prefix)

    found: list[Function] = []
    for module, tree in modules():
        found += within(tree.body, "")
    return found


FUNCTIONS = functions()
PUBLIC = [one for one in FUNCTIONS if not any(part.startswith("_") for part in one.qualified.split("."))]


def unexplained(found: list[str]) -> list[str]:
    return sorted(key for key in found if key not in ALLOWED)


def test_a_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for module, name in classes():
        places[name].append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def no_verbs() -> list[str]:
    starts = VERBS | QUESTIONS | CONVERSIONS
    return [one.key for one in PUBLIC if not one.is_property and one.words[0].lower() not in starts]


def test_a_public_function_begins_with_a_verb_or_is_a_property() -> None:
    assert unexplained(no_verbs()) == []


def one_words() -> list[str]:
    """List functions of one word that their module does not complete: neither its name nor a name before a dot."""
    dotted = {
        f"{node.value.id}.{node.attr}"
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    imported = {
        (node.module.removeprefix("evalstore.").replace(".", "/"), alias.name)
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    found = []
    for one in PUBLIC:
        stem = one.module.removesuffix("/__init__.py").removesuffix(".py")
        last = stem.rpartition("/")[2]
        if "." in one.qualified or len(one.words) > 1 or one.name in {last, *evalstore.__all__}:
            continue
        if f"{last}.{one.name}" not in dotted or (stem, one.name) in imported:
            found.append(one.key)
    return found


def test_a_name_of_one_word_is_completed_by_its_module() -> None:
    assert unexplained(one_words()) == []


def participles() -> list[str]:
    return [
        one.key
        for one in FUNCTIONS
        if not one.name.startswith("__")
        and (first := one.words[0].lower()) not in NO_PARTICIPLES
        and (first in PARTICIPLES or (first.endswith(("ed", "ing")) and len(first) > 4))
    ]


def test_no_name_begins_with_a_participle() -> None:
    assert unexplained(participles()) == []


def test_the_list_of_exceptions_only_shrinks() -> None:
    needed = {*no_verbs(), *one_words(), *participles()}
    assert sorted(ALLOWED.keys() - needed) == [], "these are exceptions no more: take them off the list"
    assert len(ALLOWED) <= MOST
