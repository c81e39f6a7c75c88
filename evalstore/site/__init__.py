"""A store as static pages: what they show of artifacts, versions, references, runs and audits."""

from evalstore.site.contents import StoreSite
from evalstore.site.values import SiteArtifact, SiteAudit, SiteGraph, SiteIndex, SiteReference, SiteRun, SiteStep

__all__ = ["SiteArtifact", "SiteAudit", "SiteGraph", "SiteIndex", "SiteReference", "SiteRun", "SiteStep", "StoreSite"]
