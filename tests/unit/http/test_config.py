"""The command line."""

from argparse import ArgumentParser
from dataclasses import fields
from itertools import chain, combinations
from pathlib import Path

import pytest

from quotaapi import __version__
from quotaapi.__main__ import main
from quotaapi.config import (
    Config,
    ConfigError,
    add_serve_flags,
    parse,
    parse_duration,
    serve_config,
)
from storage.etcd.embedded import MAX_TXN_OPERATIONS


def test_without_flags_it_is_a_stand_alone_server_on_loopback() -> None:
    assert parse([]) == Config(etcd_max_txn_ops=MAX_TXN_OPERATIONS)


def test_flags_are_those_of_kube_apiserver() -> None:
    config = parse(
        [
            *("--bind-address", "::1", "--secure-port", "6443", "--etcd-prefix", "/other"),
            *("--etcd-servers", "http://a:2379,https://b:2379/", "--request-timeout", "1m30s"),
            *("--min-request-timeout", "300", "--max-requests-inflight", "10"),
            *("--token-auth-file", __file__, "--v", "6", "--workers", "3"),
        ]
    )

    assert config == Config(
        bind_address="::1",
        secure_port=6443,
        etcd_prefix="/other",
        etcd_servers=("http://a:2379", "https://b:2379"),
        request_timeout_seconds=90.0,
        min_request_timeout_seconds=300.0,
        max_requests_inflight=10,
        workers=3,
        token_auth_file=Path(__file__),
        log_level="DEBUG",
        log_requests=True,
    )


def test_an_etcd_of_others_takes_128_operations_unless_told_otherwise() -> None:
    flags = ["--etcd-servers", "http://a:2379"]

    assert parse(flags).etcd_max_txn_ops == 128
    assert parse([*flags, "--etcd-max-txn-ops", "500"]).etcd_max_txn_ops == 500


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1"])
def test_a_stand_alone_server_refuses_to_listen_beyond_loopback(address) -> None:
    with pytest.raises(ConfigError, match="loopback addresses only"):
        parse(["--bind-address", address])


def test_behind_a_cluster_it_may_listen_everywhere() -> None:
    config = parse(["--bind-address", "0.0.0.0", "--kubeconfig", __file__])

    assert (config.bind_address, config.kubeconfig, config.delegated) == (
        "0.0.0.0",
        Path(__file__),
        True,
    )


_CERTIFICATE = ("--tls-cert-file", __file__, "--tls-private-key-file", __file__)


@pytest.mark.parametrize("users", ["--token-auth-file", "--client-ca-file"])
def test_a_stand_alone_server_is_opened_to_users_that_were_named(users) -> None:
    address = ("--bind-address", "0.0.0.0")
    named = (("--stand-alone",), _CERTIFICATE, (users, __file__))

    assert parse([*address, *chain(*named)]).bind_address == "0.0.0.0"
    for two in combinations(named, 2):
        with pytest.raises(ConfigError, match="loopback addresses only"):
            parse([*address, *chain(*two)])


def test_what_is_logged_is_chosen_by_level_or_verbosity_and_the_level_counts() -> None:
    def chosen(*flags: str) -> tuple[str, bool]:
        config = parse(flags)
        return config.log_level, config.log_requests

    assert chosen() == ("INFO", False)
    assert chosen("--log-level", "debug") == ("DEBUG", True)
    assert chosen("-v", "3") == ("INFO", True)
    assert chosen("-v", "4") == ("DEBUG", True)
    assert chosen("-v", "4", "--log-level", "Warning") == ("WARNING", True)


_FILES = [
    f"--{field.name.replace('_', '-')}"
    for field in fields(Config)
    if "Path |" in str(field.type) and field.name != "data_dir"
]


@pytest.mark.parametrize("option", _FILES)
def test_a_file_that_cannot_be_read_is_named_with_its_option(option, tmp_path) -> None:
    with pytest.raises(ConfigError, match=f"{option} {tmp_path}: Is a directory"):
        parse([
            *("--kubeconfig", __file__, *_CERTIFICATE),
            *("--etcd-certfile", __file__, "--etcd-keyfile", __file__, option, str(tmp_path)),
        ])  # fmt: skip


def test_outside_of_a_pod_nothing_is_delegated_unasked() -> None:
    assert not parse([], {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}).delegated


def test_a_pods_service_account_is_used_unless_told_otherwise() -> None:
    parser = ArgumentParser()
    add_serve_flags(parser)

    def delegated(*flags: str) -> bool:
        return serve_config(parser.parse_args(flags), in_pod=True).delegated

    assert (delegated(), delegated("--stand-alone")) == (True, False)


@pytest.mark.parametrize(
    "flags",
    [
        ["--stand-alone", "--kubeconfig", "k"],
        ["--authentication-kubeconfig", "k"],
        ["--authorization-kubeconfig", "k"],
        ["--bind-address", "localhost"],
        ["--tls-cert-file", "x"],
        ["--etcd-keyfile", "x"],
        ["--etcd-prefix", "registry"],
        ["--etcd-prefix", "/"],
        ["--secure-port", "70000"],
    ],
)
def test_flags_that_make_no_sense_are_refused(flags) -> None:
    with pytest.raises(ConfigError):
        parse(flags)


@pytest.mark.parametrize(
    "flags",
    [
        ["--bogus"],
        ["--quota-workers", "0"],
        ["--workers", "0"],
        ["--etcd-servers", "a:1"],
        ["--workers", "many"],
        ["--etcd-servers", ""],
        ["--etcd-servers", " , "],
        ["--request-timeout", "x"],
        ["--resync-interval", "0"],
        ["--etcd-compaction-interval", "0s"],
    ],
)
def test_flags_that_cannot_be_read_end_the_program(flags, capsys) -> None:
    with pytest.raises(SystemExit):
        parse(flags)

    said = capsys.readouterr().err
    assert said.startswith("quotaapi serve: ")
    assert len(said.splitlines()) == 1
    assert " _" not in said


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0.0), ("500ms", 0.5), ("1m30s", 90.0), ("1.5h", 5400.0), (".5s", 0.5)],
)
def test_durations_are_read_as_go_reads_them(text, seconds) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "-1s", "1x", "s", "1 s", "9999999h"])
def test_what_is_no_duration_is_refused(text) -> None:
    with pytest.raises(ValueError, match="invalid duration"):
        parse_duration(text)


def test_version_prints_the_version(capsys) -> None:
    assert (main(["version"]), capsys.readouterr().out) == (0, f"{__version__}\n")


@pytest.mark.parametrize("before", [(), ("serve",), ("audit",)])
def test_so_does_the_option(before, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*before, "--version"])

    assert (ended.value.code, capsys.readouterr().out) == (0, f"{__version__}\n")


def test_a_refused_configuration_is_exit_code_2(capsys) -> None:
    assert main(["serve", "--bind-address", "0.0.0.0"]) == 2
    assert "loopback" in capsys.readouterr().err
