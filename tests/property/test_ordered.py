"""Ordered blocks against a plain dict: any sequence of puts and removals, any range."""

from hypothesis import given
from hypothesis import strategies as st

from storage.cache.ordered import Ordered

keys = st.text(alphabet="ab/", min_size=1, max_size=4)
steps = st.lists(st.tuples(st.sampled_from(["put", "remove"]), keys), max_size=60)


@given(
    loaded=st.sets(keys),
    steps=steps,
    ranges=st.lists(st.tuples(keys, keys)),
    block=st.integers(1, 5),
)
def test_ranges_are_those_of_a_sorted_dict(
    loaded: set[str], steps: list[tuple[str, str]], ranges: list[tuple[str, str]], block: int
) -> None:
    model = dict.fromkeys(loaded, 0)
    ordered: Ordered[tuple[str, int]] = Ordered(block)
    ordered.load((key, (key, 0)) for key in sorted(loaded))
    for number, (step, key) in enumerate(steps, 1):
        if step == "put":
            model[key] = number
            ordered.put(key, (key, number))
        elif key in model:
            del model[key]
            ordered.remove(key)

    for start, end in [("", "z"), *ranges]:
        expected = [(key, model[key]) for key in sorted(model) if start <= key < end]
        assert ordered.between(start, end) == expected
