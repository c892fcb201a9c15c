"""How the documents are answered: kinds of media, hashes, and what caches are told."""

import gzip

import pytest

from apis.garden.v1beta1.register import RESOURCES
from apis.meta import codec
from apis.meta.errors import StatusError
from apis.meta.openapi import gnostic
from quotaapi.endpoints import openapi
from tests.unit.openapi.exchanges import body, get

V3 = "/openapi/v3/apis/garden.sapcloud.io/v1beta1"
V3_PROTOBUF = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
KUBECTL_V2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

PAGES = openapi.pages(RESOURCES)


async def hashed() -> str:
    """The address that the index gives."""
    index = codec.decode_json(body(await get(PAGES, "/openapi/v3"))).value
    address: str = index["paths"]["apis/garden.sapcloud.io/v1beta1"]["serverRelativeURL"]
    return address


async def test_the_index_leads_to_the_document_by_its_hash() -> None:
    address = await hashed()
    answer = await get(PAGES, address)

    assert address == f"{V3}?hash={answer.headers['ETag'].strip(chr(34))}"
    assert codec.decode_json(body(answer)).value["openapi"] == "3.0.0"


async def test_an_answer_to_the_right_hash_may_be_kept_for_a_year() -> None:
    answer = await get(PAGES, await hashed())

    assert answer.headers["Cache-Control"] == "public, immutable"
    assert answer.headers["Expires"] == "Wed, 01 Jan 2025 03:04:05 GMT"
    assert "Accept" in answer.headers["Vary"]


async def test_an_answer_without_a_hash_may_not() -> None:
    answer = await get(PAGES, V3)

    assert answer.headers["Cache-Control"] == "no-cache, private"
    assert "Expires" not in answer.headers


async def test_a_wrong_hash_is_led_to_the_right_one() -> None:
    answer = await get(PAGES, f"{V3}?hash=0")

    assert (answer.status, answer.headers["Location"]) == (301, await hashed())


@pytest.mark.parametrize("path", [V3, "/openapi/v2", "/openapi/v3"])
@pytest.mark.parametrize("form", ["{}", "W/{}", '"other", {}', "*"])
async def test_what_a_client_has_is_not_sent_again(path, form) -> None:
    etag = (await get(PAGES, path)).headers["ETag"]
    answer = await get(PAGES, path, {"If-None-Match": form.format(etag)})

    assert (answer.status, answer.body, answer.headers["ETag"]) == (304, None, etag)


async def test_a_client_with_another_version_gets_the_document() -> None:
    answer = await get(PAGES, V3, {"If-None-Match": '"other"'})

    assert answer.status == 200


@pytest.mark.parametrize(
    "accept", ["", "*/*", "application/json", f"{V3_PROTOBUF},application/json", "application/*"]
)
async def test_version_3_is_json_whatever_is_asked_before(accept) -> None:
    answer = await get(PAGES, V3, {"Accept": accept} if accept else {})

    assert answer.content_type == "application/json"


@pytest.mark.parametrize("accept", [V3_PROTOBUF, "text/html", "application/json;q=0"])
async def test_version_3_in_nothing_but_what_there_is_not_is_refused(accept) -> None:
    with pytest.raises(StatusError) as refused:
        await get(PAGES, V3, {"Accept": accept})

    assert refused.value.code == 406


@pytest.mark.parametrize("accept", [KUBECTL_V2, gnostic.MEDIA_TYPE])
async def test_version_2_is_protobuf_for_who_asks(accept) -> None:
    plain = await get(PAGES, "/openapi/v2")
    packed = await get(PAGES, "/openapi/v2", {"Accept": f"{accept},application/json"})

    assert packed.headers["Content-Type"] == gnostic.MEDIA_TYPE
    assert body(packed) == gnostic.encode(codec.decode_json(body(plain)).value)
    assert packed.headers["ETag"] == plain.headers["ETag"]


async def test_a_preferred_type_wins_over_an_earlier_one() -> None:
    accept = f"{KUBECTL_V2};q=0.5,application/json;q=0.9"

    answer = await get(PAGES, "/openapi/v2", {"Accept": accept})

    assert answer.content_type == "application/json"


async def test_a_document_is_compressed_for_who_can_read_it() -> None:
    plain = await get(PAGES, V3)
    small = await get(PAGES, V3, {"Accept-Encoding": "deflate, gzip;q=1.0"})

    assert small.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body(small)) == body(plain)


@pytest.mark.parametrize("encoding", ["identity", "gzip;q=0", "gzip; q=0.0"])
async def test_and_not_for_others(encoding) -> None:
    answer = await get(PAGES, V3, {"Accept-Encoding": encoding})

    assert "Content-Encoding" not in answer.headers


async def test_a_short_document_is_not_compressed() -> None:
    answer = await get(PAGES, "/openapi/v3", {"Accept-Encoding": "gzip"})

    assert "Content-Encoding" not in answer.headers


async def test_documents_do_not_depend_on_when_they_are_made() -> None:
    again = openapi.pages(RESOURCES)

    assert (await get(again, V3)).headers["ETag"] == (await get(PAGES, V3)).headers["ETag"]
