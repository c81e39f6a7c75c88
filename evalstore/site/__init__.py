"""A store as static pages: what they show of artifacts, versions, references, runs and audits."""

from evalstore.site.contents import (
    SiteArtifact,
    SiteAudit,
    SiteGraph,
    SiteIndex,
    SiteReference,
    SiteRun,
    SiteStep,
    StoreSite,
)

__all__ = ["SiteArtifact", "SiteAudit", "SiteGraph", "SiteIndex", "SiteReference", "SiteRun", "SiteStep", "StoreSite"]
