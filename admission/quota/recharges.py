"""What new prices do to the books: a shoot is charged again, by the difference, on every ledger.

No limit is asked: the price is the operator's, and the shoot exists. What its quotas then show may
be more than they allow, which blocks growth until somebody makes room.
"""

from admission.interface import Intent
from admission.metering.charges import Charged, Unpriceable, charge
from admission.quota.books import Books
from admission.quota.shoots import ShootChange
from admission.quota.usage import decode, difference
from admission.quota.views import Views
from apis.garden.v1beta1.register import SHOOT
from apis.meta.keys import parse_object_key
from apis.meta.request import Attributes, Operation, UserInfo
from apis.meta.transaction import Header, Object, Record

SERVER = UserInfo("system:quotaapi:recharge", ("system:authenticated",))


def recharged(record: Record, obj: Object, profile: Record | None) -> Header | None:
    """The header of a stored shoot by the prices of `profile`; None where it is what it was.

    A type that the profile lists no more keeps the price that is stored with the shoot. So does a
    whole shoot whose profile is gone, or prices it no more at all.
    """
    try:
        priced: Charged = charge(obj, profile, record.header.prices)
    except Unpriceable:
        return None
    if priced.charge == dict(record.header.charge or {}) and priced.prices == dict(
        record.header.prices or {}
    ):
        return None
    return Header(charge=priced.charge, prices=priced.prices)


class RechargeChange(ShootChange):
    """Charge a stored shoot by its profile's present prices; everything else stays as it is."""

    def __init__(self, record: Record, views: Views) -> None:
        parsed = parse_object_key(record.key)
        if parsed is None:
            raise ValueError(f"not an object's key: {record.key}")
        obj = record.object()
        attributes = Attributes(
            operation=Operation.UPDATE,
            resource=SHOOT,
            namespace=parsed[1],
            name=parsed[2],
            user=SERVER,
            obj=obj,
            old=obj,
        )
        super().__init__(Intent(attributes, record.key, record, obj), views)
        self.metered = True
        self._record = record
        self._shoot = obj

    def apply(self, books: Books, *, fold: bool) -> None:
        books.look(self.key)
        header = recharged(self._record, self._shoot, books.look(self._profile))
        if header is None or not fold:
            return
        route, ledgers = self._open(books)
        delta = difference(decode(header.charge), decode(self._record.header.charge))
        self._enter(books, route, ledgers, delta, count=0)
        books.put(self.key, self._record.body, header)
