"""What is served under which names."""

from collections.abc import Iterator

from apis.garden.v1beta1.register import BY_KIND, BY_PLURAL, GROUP, RESOURCES, VERSION
from apis.meta import keys
from apis.meta.structure import ListOf, MapOf, Node, Struct

SHORT_NAMES = {
    "Quota": ("squota",),
    "PrivateSecretBinding": ("psb",),
    "CrossSecretBinding": ("csb",),
    "SecretBinding": ("sb",),
    "CloudProfile": ("cprofile", "cpfl"),
    "ShootLimitRange": ("slr",),
    "QuotaUsage": ("qu",),
    "Shoot": (),
}


def test_every_kind_has_its_short_names() -> None:
    assert {kind: resource.short_names for kind, resource in BY_KIND.items()} == SHORT_NAMES


def test_no_name_stands_for_two_kinds() -> None:
    names = [n for r in RESOURCES for n in {r.plural, r.kind.lower(), *r.short_names}]

    assert len(names) == len(set(names))


def test_every_kind_is_found_by_its_plural() -> None:
    assert {r.plural: r for r in RESOURCES} == BY_PLURAL
    assert {r.plural for r in RESOURCES} == {
        "cloudprofiles",
        "crosssecretbindings",
        "privatesecretbindings",
        "quotas",
        "quotausages",
        "secretbindings",
        "shootlimitranges",
        "shoots",
    }


def test_every_kind_is_of_the_group_that_keys_are_built_for() -> None:
    assert keys.GROUP == GROUP
    assert {(r.group, r.version) for r in RESOURCES} == {(GROUP, VERSION)}


def test_only_cloud_profiles_have_no_namespace() -> None:
    assert [r.kind for r in RESOURCES if not r.namespaced] == ["CloudProfile"]


def test_only_the_ledger_is_read_only() -> None:
    assert [r.kind for r in RESOURCES if r.read_only] == ["QuotaUsage"]


def test_every_column_says_what_it_shows_and_age_comes_last() -> None:
    for resource in RESOURCES:
        assert all(column.description for column in resource.columns)
        assert resource.columns[-1].name == "Age"


def test_every_declared_field_says_what_it_is() -> None:
    for resource in RESOURCES:
        assert [
            path for path, node in walk(resource.schema.declaration, resource.kind) if not node.doc
        ] == []


def walk(node: Node, path: str) -> Iterator[tuple[str, Node]]:
    yield path, node
    match node:
        case Struct():
            for name, child in node.fields.items():
                yield from walk(child, f"{path}.{name}")
        case ListOf():
            yield from walk(node.items, f"{path}[]")
        case MapOf():
            yield from walk(node.values, f"{path}{{}}")
