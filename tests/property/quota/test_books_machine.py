"""Any sequence of writes on the pure books, against sums over the objects that exist."""

from tests.property.quota.books_machine import BooksMachine

TestBooks = BooksMachine.TestCase
