from admission.metering.cache import Parsed
from apis.meta.transaction import Object
from tests.admission_examples import a_quota, record_of


def counting(parsed: list[str], size: int = 2) -> Parsed[str]:
    def parse(obj: Object) -> str:
        name: str = obj["metadata"]["name"]
        parsed.append(name)
        return name

    return Parsed(parse, size=size)


def test_a_record_is_parsed_once_per_content() -> None:
    parsed: list[str] = []
    cache = counting(parsed)
    assert [cache.of_record(record_of(a_quota("a"))) for _ in range(3)] == ["a", "a", "a"]
    assert parsed == ["a"]


def test_the_entry_that_was_not_used_for_longest_goes_first() -> None:
    parsed: list[str] = []
    cache = counting(parsed)
    for name in ("a", "b", "a", "c", "a", "b"):
        cache.of_record(record_of(a_quota(name)))
    assert parsed == ["a", "b", "c", "b"]
