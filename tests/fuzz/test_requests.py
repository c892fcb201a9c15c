"""Structured garbage to every endpoint and verb."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz.strategies import Request, requests
from tests.fuzz.target import Target
from tests.fuzz.wire import request

pytestmark = [pytest.mark.integration, pytest.mark.slow]

EXAMPLES = 1000
"""About 15 ms each."""


@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(sent=requests())
def test_every_request_is_answered_and_a_refused_one_changes_nothing(
    target: Target, sent: Request
) -> None:
    before = target.revision()
    data = request(sent.method, sent.target, sent.headers, sent.body)

    answer = target.wire.send(data, method=sent.method, streams=sent.streams)

    assert answer is not None, "the server closed the connection"
    target.judge(answer, before, reads=sent.reads, of_many=sent.method == "DELETE")
    if sent.method == "DELETE" and answer.status in (200, 202, 409) and not sent.reads:
        target.seed()
