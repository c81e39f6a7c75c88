r"""Compares regular expressions by all texts that they match, with a shortest counterexample.

>>> from evalstore.languages.pattern_comparison import Expression, compare_patterns
>>> compare_patterns(Expression("cache tags?"), Expression("cache tag")).relation.value
'equal'
>>> found = compare_patterns(Expression(r"\bfoo\b"), Expression("foo"))
>>> found.relation.value, found.only_new
('wider', 'afoo')

`compare_patterns` takes two expressions as `regex` (version 0) runs them; `compare_languages` takes
what the `build_...` functions make, so that phrases and complements can be compared with patterns;
`find_memberships` takes any number of them. Nothing else is for use from outside, and nothing here
knows what the answer is for.

What is proved: "equal", "narrower", "wider" and "incomparable" hold for every text of Unicode, of
any length. The engine is asked which characters a class has (`alphabet`), and the scorer whether
each example is as claimed (`is_confirmed_by`); an answer that it contradicts is withdrawn.

What is given up as "undecided", with the reason: syntax beyond `parser`'s list (references,
look-behind, atomic and possessive parts, ...), pairs of patterns one of which may take too many
steps on an ordinary text that the other searches (`PatternMatcher.ordinary_length`), more than
1,000 items, and whatever takes too many steps to compare.

How, one module per step:

    languages                pattern -> syntax tree (`patterns.parser`), in the modes search, match
                             and fullmatch; how many characters, not counting blanks, the texts of a
                             language have at least
    patterns.alphabet        all code points -> a few letters that no part of either pattern tells
                             apart
    patterns.pattern_graph   both trees -> one graph of "what must follow", in which equal parts are
                             one node
    automaton                a graph and a letter -> what the rest must meet; worked example at its
                             top
    memberships              all languages at once, breadth first -> the combinations of them that
                             texts have, with a shortest text each
    compare                  for two: texts of one side only, or the proof that there are none, and
                             their confirmation

Steps, not time: a question may take `QUESTION_STEPS`, and questions that belong together share a
budget (`evalstore.budget`). The same pair ends at the same step on every machine; 200,000 are about
a third of a second. In theory the worst case is exponential in the pattern (PSPACE-complete without
look-ahead), so there is a limit.

Where it comes from: reading by derivatives (Brzozowski 1964; of parts, Antimirov 1996); "and", "or"
and "not" in states (alternating automata: Chandra, Kozen and Stockmeyer 1981); letters as classes
(symbolic automata, D'Antoni and Veanes); pairs of states searched together (Hopcroft and Karp
1971); states that stand for smaller ones (antichains: De Wulf, Doyen, Henzinger and Raskin 2006).
"""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison.compare import (
        QUESTION_STEPS,
        LanguageComparison,
        LanguageRelation,
        compare_languages,
        compare_patterns,
        find_step_limit,
    )
    from evalstore.languages.pattern_comparison.languages import (
        Expression,
        build_complement,
        build_group_language,
        build_pattern_language,
        build_phrase_language,
        build_words_language,
        count_visible,
    )
    from evalstore.languages.pattern_comparison.memberships import (
        Membership,
        MembershipTable,
        find_memberships,
    )
    from evalstore.languages.pattern_comparison.shapes import (
        is_included,
        list_likely_texts,
        rank_chars,
        rank_text,
    )
    from evalstore.languages.patterns.syntax_tree import RegexTree, UndecidedError

__all__ = [
    "QUESTION_STEPS",
    "Expression",
    "LanguageComparison",
    "LanguageRelation",
    "Membership",
    "MembershipTable",
    "RegexTree",
    "UndecidedError",
    "build_complement",
    "build_group_language",
    "build_pattern_language",
    "build_phrase_language",
    "build_words_language",
    "compare_languages",
    "compare_patterns",
    "count_visible",
    "find_memberships",
    "find_step_limit",
    "is_included",
    "list_likely_texts",
    "rank_chars",
    "rank_text",
]

# An edit that touches no pattern needs none of this.
__getattr__ = import_lazily(
    __name__,
    {
        ".compare": (
            *(
                "QUESTION_STEPS",
                "LanguageComparison",
                "LanguageRelation",
            ),
            *("compare_languages", "compare_patterns", "find_step_limit"),
        ),
        ".languages": (
            *("Expression", "build_complement", "build_group_language", "build_pattern_language"),
            *("build_phrase_language", "build_words_language", "count_visible"),
        ),
        ".memberships": ("Membership", "MembershipTable", "find_memberships"),
        ".shapes": ("is_included", "list_likely_texts", "rank_chars", "rank_text"),
        "evalstore.languages.patterns.syntax_tree": ("RegexTree", "UndecidedError"),
    },
)
