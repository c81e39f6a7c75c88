"""A store as static pages: what they show of artifacts, versions, references, runs and audits."""

from evalstore.site.contents import (
    SiteArtifact,
    SiteAudit,
    SiteEntry,
    SiteGraph,
    SiteIndex,
    SiteReference,
    SiteRun,
    SiteStep,
    StoreSite,
    summarize_artifact,
)

__all__ = [
    "SiteArtifact",
    "SiteAudit",
    "SiteEntry",
    "SiteGraph",
    "SiteIndex",
    "SiteReference",
    "SiteRun",
    "SiteStep",
    "StoreSite",
    "summarize_artifact",
]
