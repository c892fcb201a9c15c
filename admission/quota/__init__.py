"""Batched quota admission: what is charged where, what fits, and one transaction for both.

ledger.py      what this package asks of those around it
usage.py       sums of metrics: pure arithmetic and the words of a refusal
views.py       quotas and bindings as accounting reads them; the route of a charge
books.py       the running balances of one batch, and the transaction they become
shoots.py, bindings.py, quotas.py   what a write of each kind does to the books
evaluator.py   waiters, scheduler, batches: the last gate before storage
"""
