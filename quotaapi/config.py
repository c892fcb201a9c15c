"""The command line, read once: argv -> a frozen Config. Flag names are kube-apiserver's."""

import argparse
import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from quotaapi.commandline import Parser, file_faults, positive
from storage.etcd.embedded import MAX_TXN_OPERATIONS


class ConfigError(ValueError):
    """Flags that contradict each other, or would open the server to those who must not reach it."""


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that an operator can choose. Seconds are floats, sizes are counts.

    `etcd_servers` empty: an etcd of the server's own in `data_dir`. `min_request_timeout_seconds`
    bounds watches from below: one without `timeoutSeconds` lives between it and twice it.

    `workers`: processes that serve the port. The limits of requests at once are for all together;
    other numbers (`quota_workers`, `quota_cache_size`, ...) are each process's.

    `stand_alone`: the operator said so, rather than that there was no kubeconfig to be found.
    `require_deletion_confirmation`: of Shoots in namespaces that say nothing of it.

    `in_cluster`: the pod's service account is there to be used. `authentication_kubeconfig` and
    `authorization_kubeconfig` stand in for `kubeconfig` where they are given.
    """

    bind_address: str = "127.0.0.1"
    secure_port: int = 8443
    data_dir: Path = Path("quotaapi.data")
    workers: int = 1
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    client_ca_file: Path | None = None
    token_auth_file: Path | None = None
    kubeconfig: Path | None = None
    authentication_kubeconfig: Path | None = None
    authorization_kubeconfig: Path | None = None
    stand_alone: bool = False
    in_cluster: bool = False
    etcd_servers: tuple[str, ...] = ()
    etcd_prefix: str = "/registry"
    etcd_cafile: Path | None = None
    etcd_certfile: Path | None = None
    etcd_keyfile: Path | None = None
    etcd_max_txn_ops: int = 128
    etcd_max_request_bytes: int = 1536 * 1024
    etcd_compaction_interval_seconds: float = 300.0
    resync_interval_seconds: float = 300.0
    watch_cache_size: int = 10_000
    quota_workers: int = 5
    quota_cache_size: int = 100
    admission_timeout_seconds: float = 10.0
    request_timeout_seconds: float = 60.0
    min_request_timeout_seconds: float = 1800.0
    max_requests_inflight: int = 400
    max_mutating_requests_inflight: int = 200
    shutdown_grace_seconds: float = 10.0
    require_deletion_confirmation: bool = False
    log_level: str = "INFO"
    log_requests: bool = False

    @property
    def embedded_etcd(self) -> bool:
        return not self.etcd_servers

    @property
    def delegated(self) -> bool:
        """A kube-apiserver says who asks and what they may; otherwise the server stands alone."""
        return self.kubeconfig is not None or self.in_cluster

    @property
    def files(self) -> Sequence[tuple[str, Path]]:
        """The files that options named, each with its option."""
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return [
            (f"--{name.replace('_', '-')}", value)
            for name, value in values
            if isinstance(value, Path) and name != "data_dir"
        ]


_REQUESTS = 3
"""kube's `--v`: from here on every request is logged."""

_VERBOSE = 4
"""kube's `--v`: from here on debug messages are shown."""


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_MAX_SECONDS = 2**63 / 1e9
_DURATION = re.compile(r"(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:h|ms|us|µs|ns|m|s))+")
_PART = re.compile(r"([0-9.]+)([a-zµ]+)")


def parse_duration(text: str) -> float:
    """The seconds of a Go duration that is not negative: `1m30s`, `500ms`, `0`."""
    if text == "0":
        return 0.0
    if not _DURATION.fullmatch(text):
        raise ValueError(f'time: invalid duration "{text}"')
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    if seconds >= _MAX_SECONDS:
        raise ValueError(f'time: invalid duration "{text}"')
    return seconds


def _seconds(text: str) -> float:
    """A Go duration, or plain seconds as kube's integer flags have them."""
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return float(text)
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _interval(text: str) -> float:
    seconds = _seconds(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"must be longer than {text}: it cannot be turned off")
    return seconds


def _servers(text: str) -> tuple[str, ...]:
    servers = tuple(filter(None, (part.strip().rstrip("/") for part in text.split(","))))
    for server in servers:
        if not server.startswith(("http://", "https://")):
            raise argparse.ArgumentTypeError(f"{server}: an endpoint is http://... or https://...")
    if not servers:
        # An empty variable of a deployment: an etcd of each replica's own would admit for itself.
        raise argparse.ArgumentTypeError("names no endpoint; leave it out for an etcd of its own")
    return servers


def add_serve_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of `serve`; a flag that is left out keeps Config's own default."""
    parser.argument_default = argparse.SUPPRESS
    add = parser.add_argument
    add("--bind-address", metavar="IP", help="address to listen on (default 127.0.0.1)")
    add("--secure-port", type=int, metavar="PORT", help="HTTPS port (default 8443; 0: any)")
    add("--data-dir", type=Path, metavar="DIR", help="certificates, etcd (default quotaapi.data)")
    add(
        "--workers", type=positive, metavar="N",
        help="processes that share the port, one a core; each has caches of its own (default 1)",
    )  # fmt: skip
    add("--tls-cert-file", type=Path, metavar="FILE", help="serving certificate, with its chain")
    add("--tls-private-key-file", type=Path, metavar="FILE", help="key of --tls-cert-file")
    add("--client-ca-file", type=Path, metavar="FILE", help="who signs client certificates, too")
    add("--token-auth-file", type=Path, metavar="FILE", help='CSV: token,user,uid,"group1,group2"')
    add(
        "--require-deletion-confirmation", action="store_true",
        help="delete Shoots only with the annotation confirmation.garden.sapcloud.io/deletion=true",
    )  # fmt: skip
    _add_cluster_flags(parser)
    _add_etcd_flags(parser)
    _add_limit_flags(parser)


def _add_cluster_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="kube-apiserver; absent: the pod's own, outside of a pod none",
    )
    add("--authentication-kubeconfig", type=Path, metavar="FILE", help="for TokenReview")
    add("--authorization-kubeconfig", type=Path, metavar="FILE", help="for SubjectAccessReview")
    add(
        "--stand-alone", action="store_true",
        help="ask no kube-apiserver, in a pod neither; every user may do everything",
    )  # fmt: skip


def _add_etcd_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--etcd-servers", type=_servers, metavar="URLS", help="comma separated; absent: embedded")
    add("--etcd-prefix", metavar="PREFIX", help="what all keys begin with (default /registry)")
    add("--etcd-cafile", type=Path, metavar="FILE", help="CA of the etcd servers")
    add("--etcd-certfile", type=Path, metavar="FILE", help="client certificate for etcd")
    add("--etcd-keyfile", type=Path, metavar="FILE", help="key of --etcd-certfile")
    add("--etcd-max-txn-ops", type=positive, metavar="N", help="etcd's own (default 128)")
    add("--etcd-max-request-bytes", type=positive, metavar="N", help="etcd's own (default 1572864)")
    add(
        "--etcd-compaction-interval", type=_interval, metavar="DURATION",
        dest="etcd_compaction_interval_seconds", help="between two compactions (default 5m)",
    )  # fmt: skip


def _add_limit_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--watch-cache-size", type=positive, metavar="N", help="to resume watches (default 10000)")
    add("--quota-workers", type=positive, metavar="N", help="batches judged at once (default 5)")
    add("--quota-cache-size", type=positive, metavar="N", help="quotas looked aside (default 100)")
    add(
        "--resync-interval", type=_interval, metavar="DURATION", dest="resync_interval_seconds",
        help="between two recounts of all ledgers (default 5m)",
    )  # fmt: skip
    durations = {
        "--admission-timeout": "how long a request waits for its quota (default 10s)",
        "--request-timeout": "after which a request is a 504 (default 60s)",
        "--min-request-timeout": "least life of a watch that names none (default 1800s)",
        "--shutdown-grace": "how long shutdown waits for running requests (default 10s)",
    }
    for flag, text in durations.items():
        dest = flag.lstrip("-").replace("-", "_") + "_seconds"
        add(flag, type=_seconds, metavar="DURATION", dest=dest, help=text)
    divided = "divided among the workers, rounded up"
    add(
        "--max-requests-inflight", type=positive, metavar="N",
        help=f"reads at once (default 400), {divided}",
    )  # fmt: skip
    add(
        "--max-mutating-requests-inflight", type=positive, metavar="N",
        help=f"writes at once (default 200), {divided}",
    )  # fmt: skip
    levels = ("DEBUG", "INFO", "WARNING", "ERROR")
    add(
        "--log-level", type=str.upper, choices=levels, metavar="LEVEL",
        help="debug, info, warning or error (default info, or what --v says)",
    )  # fmt: skip
    add(
        "--v", "-v", type=int, metavar="N",
        help=f"kube's verbosity; {_REQUESTS}: a line for each request, {_VERBOSE}: debug, too",
    )  # fmt: skip


def serve_config(namespace: argparse.Namespace, *, in_pod: bool = False) -> Config:
    """`in_pod`: a service account is at hand. Raises ConfigError for what does not go together."""
    given = {key: value for key, value in vars(namespace).items() if key != "command"}
    if given.get("stand_alone", False):
        named = [key for key in given if key.endswith("kubeconfig")]
        if named:
            raise ConfigError(
                f"--stand-alone and --{named[0].replace('_', '-')} exclude each other"
            )
    elif "kubeconfig" not in given:
        given["in_cluster"] = in_pod
    verbosity = given.pop("v", 0)
    if verbosity >= _VERBOSE:
        given.setdefault("log_level", "DEBUG")
    given["log_requests"] = verbosity >= _REQUESTS or given.get("log_level") == "DEBUG"
    config = Config(**given)
    if config.embedded_etcd and "etcd_max_txn_ops" not in given:
        config = Config(**given, etcd_max_txn_ops=MAX_TXN_OPERATIONS)
    _check(config)
    return config


def _check(config: Config) -> None:
    pairs = (
        (
            "tls-cert-file",
            config.tls_cert_file,
            "tls-private-key-file",
            config.tls_private_key_file,
        ),
        ("etcd-certfile", config.etcd_certfile, "etcd-keyfile", config.etcd_keyfile),
    )
    for one, first, other, second in pairs:
        if (first is None) != (second is None):
            raise ConfigError(f"--{one} and --{other} belong together: give both or neither")
    if not config.etcd_prefix.startswith("/") or config.etcd_prefix.strip("/") == "":
        raise ConfigError("--etcd-prefix must begin with a slash and name something")
    if not 0 <= config.secure_port <= 65535:
        raise ConfigError(f"--secure-port {config.secure_port} is no port")
    try:
        address = ipaddress.ip_address(config.bind_address)
    except ValueError:
        raise ConfigError(f"--bind-address {config.bind_address!r} is no IP address") from None
    if not config.delegated and (
        config.authentication_kubeconfig or config.authorization_kubeconfig
    ):
        raise ConfigError(
            "--authentication-kubeconfig and --authorization-kubeconfig go with --kubeconfig, "
            "which namespaces and secrets are looked up with"
        )
    if not (address.is_loopback or config.delegated or _open_on_purpose(config)):
        raise ConfigError(
            f"--bind-address {address} is refused: without a kubeconfig the server stands alone, "
            "where every authenticated user may do everything, and serves loopback addresses only. "
            "To open it all the same, say --stand-alone and who is trusted: --tls-cert-file, "
            "--tls-private-key-file, and --token-auth-file or --client-ca-file"
        )


def _open_on_purpose(config: Config) -> bool:
    """Nobody checks RBAC, namespaces or rights on secrets on a server that stands alone: beyond
    loopback it serves only those whom the operator named, under a certificate that they know."""
    named = config.token_auth_file or config.client_ca_file
    return config.stand_alone and config.tls_cert_file is not None and named is not None


_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def in_pod(environ: Mapping[str, str]) -> bool:
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and _SERVICE_ACCOUNT.is_file()


def parse(argv: Sequence[str], environ: Mapping[str, str] | None = None) -> Config:
    """What `serve` makes of its flags. Exits as argparse does on unknown ones; raises ConfigError.

    `environ`: the process's own, from which a pod is known; None: no pod.
    """
    parser = Parser(
        "quotaapi serve", epilog="A DURATION is 90s, 1m30s, 500ms or a number of seconds."
    )
    add_serve_flags(parser)
    namespace = parser.parse_args(argv)
    config = serve_config(namespace, in_pod=in_pod(environ or {}))
    if faults := file_faults(config.files):
        raise ConfigError("; ".join(faults))
    return config
