"""What changed since its last release, and which version it needs; reads only."""

from evalstore.status.status import read_status
from evalstore.status.values import ArtifactState, ArtifactStatus, Status
from evalstore.status.version_rules import VersionRule

__all__ = ["ArtifactState", "ArtifactStatus", "Status", "VersionRule", "read_status"]
