"""TODO."""

from evalstore.regex_inclusion.compare import (
    QUESTION_STEPS,
    TOTAL_STEPS,
    LanguageComparison,
    LanguageRelation,
    compare_languages,
    compare_patterns,
)
from evalstore.regex_inclusion.languages import (
    Expression,
    build_complement,
    build_pattern_language,
    build_phrase_language,
)
from evalstore.regex_inclusion.syntax_tree import RegexTree
from evalstore.regex_inclusion.unsupported import UndecidedError

__all__ = [
    "QUESTION_STEPS",
    "TOTAL_STEPS",
    "Expression",
    "LanguageComparison",
    "LanguageRelation",
    "RegexTree",
    "UndecidedError",
    "build_complement",
    "build_pattern_language",
    "build_phrase_language",
    "compare_languages",
    "compare_patterns",
]
