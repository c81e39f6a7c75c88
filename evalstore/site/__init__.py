"""What the pages of a store's site show: the store read as values, page by page; writes nothing."""

from evalstore.site.store_site import StoreSite
from evalstore.site.values import SiteAudit, SiteEntry, WrittenSite, summarize_artifact

__all__ = ["SiteAudit", "SiteEntry", "StoreSite", "WrittenSite", "summarize_artifact"]
