"""Batched quota admission: what is charged where, what fits, and one transaction for both.

ledger.py      what this package asks of those around it
usage.py       sums of metrics: pure arithmetic and the words of a refusal
views.py       quotas and bindings as accounting reads them; the route of a charge
books.py       the running balances of one batch, and the transaction they become
change.py      one intended write, as the books see it; what each kind of write does to them:
               shoots.py, bindings.py, quotas.py, plain.py, and the server's own recharges.py
recount.py     what every ledger ought to hold, and the mending of one
waiting.py     those who wait, in lanes
evaluator.py   the last gate before storage: who goes together, and when
judge.py       one batch, from its claims to an outcome for each of its waiters
insistence.py  who has waited for long queues for what others write without pause
"""
