"""Whether releases are still what was released: against their files, the ledgers at HEAD, and evalstore.lock."""

from evalstore.integrity.lock import LockedRef, LockResult, lock
from evalstore.integrity.verify import Verification, check_lock, verify

__all__ = ["LockResult", "LockedRef", "Verification", "check_lock", "lock", "verify"]
