"""What changed since its last release, and which version it needs; reads only."""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.status.status import read_status
    from evalstore.status.values import ArtifactState, ArtifactStatus, Status
    from evalstore.status.version_rules import VersionRule

__all__ = ["ArtifactState", "ArtifactStatus", "Status", "VersionRule", "read_status"]

_VALUES = dict.fromkeys(("ArtifactState", "ArtifactStatus", "Status"), "values")
__getattr__ = import_lazily(__name__, {**_VALUES, "VersionRule": "version_rules", "read_status": "status"})
