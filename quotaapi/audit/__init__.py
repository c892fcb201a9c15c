"""`quotaapi audit`: are the accounts exact at every revision that etcd still has?"""

from quotaapi.audit.command import run

__all__ = ["run"]
