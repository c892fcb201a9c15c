"""The ConfigMap of the cluster."""

import pytest

from quotaapi.auth.clusterconfig import NOBODY, parse
from quotaapi.auth.requestheader import RequestHeaders
from tests.frontproxy.pki import Authority


def test_it_names_authorities_names_and_headers(tmp_path) -> None:
    pem = Authority(tmp_path, "proxies").pem

    trust, wrong = parse(
        {
            "client-ca-file": Authority(tmp_path, "users").pem,
            "requestheader-client-ca-file": pem,
            "requestheader-allowed-names": '["a","b"]',
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
            "requestheader-uid-headers": '["X-Remote-Uid"]',
        },
        NOBODY,
    )

    assert trust.headers == RequestHeaders(
        frozenset({"a", "b"}), ("X-Remote-User",), ("X-Remote-Uid",), ("X-Remote-Group",),
        ("X-Remote-Extra-",),
    )  # fmt: skip
    assert trust.proxy.pem == pem.encode()
    assert (bool(trust.client.der), wrong) == (True, "")


def test_without_an_authority_for_proxies_no_headers_are_heard(tmp_path) -> None:
    trust, wrong = parse(
        {
            "client-ca-file": Authority(tmp_path, "users").pem,
            "requestheader-username-headers": '["X-Remote-User"]',
        },
        NOBODY,
    )

    assert (trust.headers, wrong) == (None, "")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("client-ca-file", "no certificate"),
        ("requestheader-client-ca-file", "no certificate"),
        ("requestheader-allowed-names", "a,b"),
        ("requestheader-allowed-names", '{"a": 1}'),
        ("requestheader-allowed-names", "[1]"),
    ],
)
def test_what_is_malformed_is_as_before_and_holds_up_nothing_else(tmp_path, key, value) -> None:
    before, _ = parse(configuration(tmp_path / "before"), NOBODY)
    data = configuration(tmp_path / "now")

    trust, wrong = parse({**data, key: value}, before)

    taken, _ = parse(data, NOBODY)
    of_client = key == "client-ca-file"
    assert trust.client.pem == (before if of_client else taken).client.pem
    assert trust.proxy.pem == (taken if of_client else before).proxy.pem
    assert trust.headers == (taken if of_client else before).headers
    assert key in wrong


def configuration(directory) -> dict[str, str]:
    return {
        "client-ca-file": Authority(directory, "users").pem,
        "requestheader-client-ca-file": Authority(directory, "proxies").pem,
        "requestheader-allowed-names": f'["{directory.name}"]',
    }
