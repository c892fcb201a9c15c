"""/livez, /readyz and /healthz in kube-apiserver's format: text for people and for probes.

Live means: answering; a restart would not help what else may be wrong. Ready means: answering well.
"""

from collections.abc import Callable, Mapping, Sequence

from aiohttp import web

from quotaapi.endpoints import query, respond
from quotaapi.endpoints.exchange import Exchange

Check = Callable[[], str]
"""Empty where all is well, else why not (for the log: probes are not authenticated)."""

Groups = Mapping[str, Mapping[str, Check]]
"""livez, readyz, healthz -> name -> check, in the order in which they are shown."""


def alive() -> str:
    return ""


class Health:
    """Answers the paths; `log` is told why a check failed."""

    def __init__(self, groups: Groups, log: Callable[[str], None]) -> None:
        self._groups = groups
        self._log = log
        self.paths: tuple[str, ...] = tuple(
            path
            for group, checks in groups.items()
            for path in (f"/{group}", *(f"/{group}/{name}" for name in checks))
        )

    def passes(self, group: str) -> bool:
        """What a probe would hear, without its words in the log."""
        return not any(check() for check in self._groups[group].values())

    def covers(self, path: str) -> bool:
        """Whether `path` is for this object to answer, to everybody."""
        return path.strip("/").partition("/")[0] in self._groups

    def answer(self, exchange: Exchange) -> web.Response:
        group, _, name = exchange.info.path.strip("/").partition("/")
        checks = self._groups[group]
        if exchange.info.method not in ("GET", "HEAD"):
            return respond.text(exchange, "method not allowed\n", status=405)
        if name:
            if name not in checks:
                return respond.no_such_page(exchange)
            return self._one(exchange, group, name)
        parameters = query.parse(exchange.info.query)
        excluded = parameters.get("exclude", ())
        lines, failed = self._run(group, excluded)
        unknown = [f'"{value}"' for value in excluded if value and value not in checks]
        if unknown:
            lines.append(
                f"warn: some health checks cannot be excluded: no matches for {', '.join(unknown)}"
            )
        if failed:
            lines.append(f"{group} check failed")
            return respond.text(exchange, "\n".join(lines) + "\n", status=503)
        if "verbose" not in parameters:
            return respond.text(exchange, "ok")
        return respond.text(exchange, "\n".join([*lines, f"{group} check passed"]) + "\n")

    def _one(self, exchange: Exchange, group: str, name: str) -> web.Response:
        why = self._groups[group][name]()
        if why:
            self._log(f"{group}/{name}: {why}")
            return respond.text(exchange, "internal server error: reason withheld\n", status=503)
        return respond.text(exchange, "ok")

    def _run(self, group: str, excluded: Sequence[str]) -> tuple[list[str], bool]:
        lines, failures = [], []
        for name, check in self._groups[group].items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif why := check():
                failures.append(f"{name}: {why}")
                lines.append(f"[-]{name} failed: reason withheld")
            else:
                lines.append(f"[+]{name} ok")
        if failures:
            self._log(f"{group} check failed: {'; '.join(failures)}")
        return lines, bool(failures)
