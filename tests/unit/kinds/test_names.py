"""What a word means to kubectl in a cluster that has this group and others.

`meaning` follows client-go's restmapper: a word that is no plural and no singular of any kind is
a short name, of the first group that has it; else it is a plural or singular, and where discovery
publishes no singular, the kind in lower case counts as one.
"""

from collections.abc import Sequence

import pytest

from apis.garden.v1beta1.register import GROUP, RESOURCES
from tests.unit.kinds.names_elsewhere import ADD_ONS, BUILT_IN, GARDENER, KUBE_BIND, Kind

Published = tuple[Kind, str]
"""A kind, and the singular that discovery publishes."""

OURS: list[Published] = [
    (Kind(r.group, r.kind, r.plural, r.short_names, r.categories), r.singular) for r in RESOURCES
]
NAMED = [(kind.plural, word) for kind, _ in OURS for word in sorted(kind.words - {"quota"})]


def published(kinds: Sequence[Kind]) -> list[Published]:
    return [(kind, kind.singular) for kind in kinds]


def meaning(word: str, cluster: Sequence[Published]) -> str:
    """`group/plural`; the cluster's groups come in the order of their priority."""
    if not any(word in (kind.plural, singular) for kind, singular in cluster):
        for kind, _singular in cluster:
            if word in kind.short_names:
                return f"{kind.group}/{kind.plural}"
    for kind, singular in cluster:
        if word in (kind.plural, singular or kind.singular):
            return f"{kind.group}/{kind.plural}"
    return ""


CORE = published(BUILT_IN)


def test_quota_alone_is_cores() -> None:
    assert meaning("quota", [*CORE, *OURS]) == "/resourcequotas"


def test_a_published_singular_would_take_quota_from_core() -> None:
    singular = [(kind, kind.singular) for kind, _ in OURS]

    assert meaning("quota", [*CORE, *singular]) == f"{GROUP}/quotas"


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.plural)
def test_no_word_of_a_built_in_kind_changes_its_meaning(kind) -> None:
    together = [*CORE, *OURS]

    for word in kind.words:
        assert meaning(word, together) == meaning(word, CORE)


@pytest.mark.parametrize(("plural", "word"), NAMED)
def test_every_word_means_its_kind_beside_built_in_kinds_and_add_ons(plural, word) -> None:
    assert meaning(word, [*CORE, *OURS, *published(ADD_ONS)]) == f"{GROUP}/{plural}"


@pytest.mark.parametrize("kind", ADD_ONS, ids=lambda kind: kind.plural)
def test_no_add_on_is_known_by_a_word_of_ours(kind) -> None:
    assert not kind.words & {word for ours, _ in OURS for word in ours.words}


def test_the_words_that_others_have_too_are_these() -> None:
    ours = {word for kind, _ in OURS for word in kind.words}
    shared = {word for kind in (*GARDENER, KUBE_BIND) for word in kind.words & ours}

    assert shared == {
        "cloudprofile", "cloudprofiles", "cpfl", "cprofile", "quota", "quotas", "sb",
        "secretbinding", "secretbindings", "shoot", "shoots", "squota",
    }  # fmt: skip


def test_no_category_brings_a_cluster_into_delete_all() -> None:
    assert [kind for kind, _ in OURS if kind.categories] == []
