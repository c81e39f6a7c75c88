"""evalstore inside other programs.

`scorer` grades single outputs; each module fits it to a program. A module needs the program that it
is named after, and nothing else imports the module.
"""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.integrations.rubric_scorer import Graded, RubricScorer, scorer

__all__ = ["Graded", "RubricScorer", "scorer"]

__getattr__ = import_lazily(__name__, {".rubric_scorer": __all__})
