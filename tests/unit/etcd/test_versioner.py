"""Arithmetic on versions."""

from hypothesis import given
from hypothesis import strategies as st

from storage import versioner

revisions = st.integers(0, 2**53)
positions = st.integers(0, 998)


@given(revisions, positions)
def test_a_version_tells_its_revision(revision: int, position: int) -> None:
    assert versioner.revision_of(versioner.version(revision, position)) == revision
    assert versioner.revision_of(versioner.list_version(revision)) == revision


@given(revisions, positions, revisions, positions)
def test_versions_are_ordered_as_events_are(a: int, p: int, b: int, q: int) -> None:
    assert (versioner.version(a, p) < versioner.version(b, q)) == ((a, p) < (b, q))


@given(revisions, positions)
def test_a_list_comes_after_every_event_of_its_revision(revision: int, position: int) -> None:
    listed = versioner.list_version(revision)
    assert versioner.version(revision, position) < listed < versioner.version(revision + 1, 0)
