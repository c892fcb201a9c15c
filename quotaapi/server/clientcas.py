"""The client CAs that files hold, each file by itself: one that cannot be used holds up no other."""

import logging
from collections.abc import Sequence
from pathlib import Path

from quotaapi.trust import Authorities

_log = logging.getLogger(__name__)


class ClientCas:
    """`newest`: what the files held when each of them could last be used."""

    def __init__(self, paths: Sequence[Path]) -> None:
        """Raises OSError where one of them cannot be used: a start has no last good one."""
        self._bundles = {path: _bundle(path, path.read_bytes()) for path in paths}
        self._refused: dict[Path, bytes | str] = {}

    @property
    def newest(self) -> Authorities:
        return Authorities(b"\n".join(bundle.pem for bundle in self._bundles.values()))

    def look(self) -> bool:
        """Whether something else than before counts."""
        changed = [path for path in self._bundles if self._look(path)]
        return bool(changed)

    def _look(self, path: Path) -> bool:
        found: bytes | str = ""
        try:
            found = path.read_bytes()
            if found == self._bundles[path].pem:
                self._refused.pop(path, None)
                return False
            self._bundles[path] = _bundle(path, found)
        except OSError as error:
            refused = found or str(error)
            if self._refused.get(path) != refused:
                # As kube-apiserver: a file that is being written must lock out nobody.
                _log.warning("its client CAs of before count on: %s", error)
            self._refused[path] = refused
            return False
        self._refused.pop(path, None)
        _log.info("client CAs were read anew: %s", path)
        return True


def _bundle(path: Path, pem: bytes) -> Authorities:
    """Raises OSError for what is none, and for an empty file: to trust nobody is said otherwise."""
    try:
        bundle = Authorities(pem)
    except ValueError as error:
        raise OSError(f"{path}: {error}") from error
    if not bundle.der:
        raise OSError(f"{path} holds no certificate")
    return bundle
