"""What the rules of one run may ask, besides the artifact before them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date

from evalstore.model import Artifact, Kind
from evalstore.validation.acceptances import Pending
from evalstore.validation.bundles import Bundles
from evalstore.validation.lookup import Lookup
from evalstore.validation.policy import Policy


@dataclass(frozen=True, slots=True)
class Known:
    """What rooms above this one know: the rules of changes, the numbers of their sets, and which acceptances stand.

    `pending` are the acceptances of changes since the last releases, and whether a change needs them; None where nobody
    has looked. What is not known is not judged.
    """

    rules: Collection[str] = ()
    rule_sets: Collection[int] = ()
    pending: Pending | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """The other artifacts, the bundles, the policies, what is known above, and the day it is."""

    lookup: Lookup
    bundles: Bundles
    today: date
    base: Policy
    of_targets: Mapping[tuple[Kind, str], Policy]
    known: Known

    def policy(self, artifact: Artifact) -> Policy:
        """Return the policy of one artifact."""
        return self.of_targets.get((artifact.kind, artifact.id), self.base)
