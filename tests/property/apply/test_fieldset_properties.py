"""Laws of sets of field paths, against plain sets of texts."""

from hypothesis import given
from hypothesis import strategies as st

from apis.meta import codec, fieldset
from apis.meta.fieldset import FieldSet

elements = st.sampled_from(
    ["f:a", "f:b", 'k:{"n":"x"}', 'k:{"n":"x y"}', 'v:"a"', 'v:"a b"', "v:2", "v:10", "i:1"]
)
sets = st.recursive(
    st.just({}),
    lambda inner: st.dictionaries(elements | st.just("."), inner, max_size=4),
    max_leaves=8,
).map(lambda value: fieldset.parse({key: node for key, node in value.items() if key != "."}))


def members(fields: FieldSet) -> set[str]:
    return set(fieldset.paths(fields))


@given(sets, sets)
def test_a_union_has_exactly_the_members_of_both(one: FieldSet, other: FieldSet) -> None:
    assert members(fieldset.union(one, other)) == members(one) | members(other)


@given(sets, sets)
def test_a_difference_has_exactly_the_members_of_the_first_alone(
    one: FieldSet, other: FieldSet
) -> None:
    assert members(fieldset.difference(one, other)) == members(one) - members(other)


@given(sets, sets)
def test_an_intersection_has_exactly_the_members_that_are_in_both(
    one: FieldSet, other: FieldSet
) -> None:
    assert members(fieldset.intersection(one, other)) == members(one) & members(other)


@given(sets, sets)
def test_every_result_is_canonical(one: FieldSet, other: FieldSet) -> None:
    for operation in (fieldset.union, fieldset.difference):
        result = operation(one, other)
        assert codec.encode(fieldset.parse(result)) == codec.encode(result)
    common = fieldset.intersection(one, other)
    assert codec.encode(fieldset.parse(common)) == codec.encode(common)


@given(sets)
def test_a_set_survives_being_stored(fields: FieldSet) -> None:
    stored = codec.encode(fields)
    assert codec.encode(fieldset.parse(codec.decode_json(stored).value)) == stored
    assert codec.encode(fieldset.ordered(codec.decode_json(stored).value)) == stored


@given(sets, sets)
def test_no_operation_changes_its_arguments(one: FieldSet, other: FieldSet) -> None:
    before = codec.encode([one, other])
    fieldset.union(one, other)
    fieldset.difference(one, other)
    fieldset.intersection(one, other)
    assert codec.encode([one, other]) == before
    assert fieldset.LEAF == {}
