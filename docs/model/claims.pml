/* Claims: who waits for whom inside one replica.
 *
 *   hold, release   storage/claims.py `ClaimTable`: queues, and the hand that releases gives the key on
 *   try_claim       all or nothing, never waits; closed where somebody waits
 *   Shoot           a batch of shoots: admission/quota/evaluator.py `_try`; `_insist` and insistence.py
 *   Binding         who changes a binding's quotas: holds it, and its waiter needs what lies above
 *   Writer          who writes a quota again and again, without a pause
 *   Sharer          batches of other bindings' shoots, which only guard a quota; without a pause
 *
 * The keys, in the order of kinds: the binding, the profile, two quotas, the ledger.
 */

#ifndef SHOOTS
#define SHOOTS 2
#endif
#ifndef BINDINGS
#define BINDINGS 1
#endif
#ifndef WRITERS
#define WRITERS 2
#endif

#ifndef SHARERS
#define SHARERS 2
#endif

#define BINDING 0
#define PROFILE 1
#define ONE 2
#define TWO 3
#define LEDGER 4
#define NK 5
#define NA (SHOOTS + BINDINGS + WRITERS)

bit taken[NK];          /* exclusively */
byte shares[NK];
chan waiting[NK] = [NA] of { byte };
bit served[NA];         /* was given the key that it waits for */
byte decided;

#ifdef OPEN_TO_BATCHES
#define CLOSED(k) false
#else
#define CLOSED(k) (len(waiting[k]) != 0)
#endif
#define FREE(k) (!taken[k] && !shares[k] && !CLOSED(k))
#define SHAREABLE(k) (!taken[k] && !CLOSED(k))

hidden byte next;

/* Two steps: to ask, and to have. */
inline hold(a, k) {
	atomic {
		if
		:: !taken[k] && !shares[k] -> taken[k] = 1; served[a] = 1
		:: else -> waiting[k]!a
		fi
	};
	atomic { served[a] -> served[a] = 0 }
}

inline hand_on(k) {
	if
	:: len(waiting[k]) -> waiting[k]?next; taken[k] = 1; served[next] = 1
	:: else
	fi
}

inline release(k) { taken[k] = 0; hand_on(k) }

inline unshare(k) {
	shares[k]--;
	if
	:: !shares[k] -> hand_on(k)
	:: else
	fi
}

#define ALL_FREE (SHAREABLE(BINDING) && SHAREABLE(PROFILE) && FREE(ONE) && SHAREABLE(TWO) && FREE(LEDGER))

/* Of a quota of secret scope, `ONE`, and one of project scope. */
proctype Shoot(byte a) {
	bit turned;
	if
	:: atomic { ALL_FREE ->
		shares[BINDING]++; shares[PROFILE]++; taken[ONE] = 1; shares[TWO]++; taken[LEDGER] = 1 };
		atomic { decided++; release(LEDGER); unshare(TWO); release(ONE); unshare(PROFILE); unshare(BINDING) }
#ifndef NO_INSISTENCE
	/* it has waited for long */
	:: atomic { true ->
#ifdef ANY_ORDER
		if
		:: turned = 0
		:: turned = 1
		fi
#endif
		};
		if
		:: !turned -> hold(a, BINDING); hold(a, PROFILE); hold(a, ONE); hold(a, TWO)
		:: else -> hold(a, TWO); hold(a, ONE); hold(a, PROFILE); hold(a, BINDING)
		fi;
		atomic { FREE(LEDGER) -> taken[LEDGER] = 1 };
		atomic { decided++; release(LEDGER); release(TWO); release(ONE); release(PROFILE); release(BINDING) }
#endif
	fi
}

proctype Binding(byte a) {
	hold(a, BINDING);
	if
	:: atomic { FREE(ONE) && SHAREABLE(TWO) && SHAREABLE(LEDGER) ->
		taken[ONE] = 1; shares[TWO]++; shares[LEDGER]++ };
		atomic { decided++; unshare(LEDGER); unshare(TWO); release(ONE); release(BINDING) }
#ifndef NO_INSISTENCE
	:: hold(a, ONE); hold(a, TWO);
		atomic { SHAREABLE(LEDGER) -> shares[LEDGER]++ };
		atomic { decided++; unshare(LEDGER); release(TWO); release(ONE); release(BINDING) }
#endif
	fi
}

proctype Writer(byte a) {
end_writer:
	do
	:: hold(a, ONE); atomic { release(ONE) }
	od
}

proctype Sharer() {
end_sharer:
	do
	:: atomic { SHAREABLE(TWO) -> shares[TWO]++ }; atomic { unshare(TWO) }
	od
}

init {
	atomic {
		byte n;
		for (n : 0 .. SHOOTS - 1) { run Shoot(n) };
		for (n : SHOOTS .. SHOOTS + BINDINGS - 1) { run Binding(n) };
#if WRITERS
		for (n : SHOOTS + BINDINGS .. NA - 1) { run Writer(n) };
#endif
#if SHARERS
		for (n : 1 .. SHARERS) { run Sharer() };
#endif
	}
}

#ifdef LIVENESS
ltl everybody_is_answered { <> (decided == SHOOTS + BINDINGS) }
#endif
