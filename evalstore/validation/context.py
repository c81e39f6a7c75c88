"""What the rules of one run may ask, besides the artifact before them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from evalstore.model import Artifact, Kind
from evalstore.validation.bundles import Bundles
from evalstore.validation.lookup import Lookup
from evalstore.validation.policy import Policy


@dataclass(frozen=True, slots=True)
class Context:
    """The other artifacts, the bundles, the policies, and the day it is."""

    lookup: Lookup
    bundles: Bundles
    today: date
    base: Policy
    of_targets: Mapping[tuple[Kind, str], Policy]

    def policy(self, artifact: Artifact) -> Policy:
        """Return the policy of one artifact."""
        return self.of_targets.get((artifact.kind, artifact.id), self.base)
