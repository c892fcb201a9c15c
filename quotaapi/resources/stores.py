"""One store per kind, and what the watch cache is to know of each."""

from collections.abc import Callable, Mapping
from datetime import datetime

from apis.garden.v1beta1.register import RESOURCES
from apis.meta.transaction import Transactor
from quotaapi.registry.heavy import Heavy
from quotaapi.registry.identity import new_uid, random_suffix
from quotaapi.registry.rest import Rest
from quotaapi.registry.selection import extract
from quotaapi.registry.store import Store
from quotaapi.registry.wiring import Admit, Machinery, Mutate, Validate
from storage.interface import Extract, Reader


def extracts() -> Mapping[str, Extract]:
    """By plural."""
    return {resource.plural: extract(resource) for resource in RESOURCES}


def stores(
    *,
    reader: Reader,
    transactor: Transactor,
    mutate: Mutate,
    validate: Validate,
    admit: Admit,
    clock: Callable[[], datetime],
    heavy: Heavy,
) -> Mapping[str, Rest]:
    """By plural."""
    return {
        resource.plural: Store(
            Machinery(
                resource=resource,
                reader=reader,
                transactor=transactor,
                mutate=mutate,
                validate=validate,
                admit=admit,
                clock=clock,
                new_uid=new_uid,
                random_suffix=random_suffix,
                heavy=heavy,
            )
        )
        for resource in RESOURCES
    }
