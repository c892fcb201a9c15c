/* Admission: from a request to its answer, in NR replicas over one etcd.
 *
 * A commit is one step here, with the outcomes that group commit promises; commit.pml shows that
 * it keeps them. README.md says what is abstracted away.
 *
 *   Waiter    one request: quotaapi/registry/create.py, deletion.py; admission/quota/evaluator.py `admit`
 *   Batch     one worker: evaluator.py `_claim_batch`, `_decide`; judge.py; books.py
 *   claims    storage/claims.py: `holder` (claim_object) and `claimed` (try_claim of the ledger)
 *   cache     storage/cache/: the replica knows etcd as of revision `cached`, fed one revision at a time
 *   aside     storage/lookaside.py and storage/transactor.py: what is known beyond the cache
 *   Operator  any other writer of the quota and the binding (quotas.py, bindings.py), always well informed
 *
 * Keys: the shoots 0..NO-1, the ledger (a QuotaUsage and the binding's ledger in one: gone at zero),
 * the quota, the binding. A shoot is charged 1. `LIMIT` is the quota's.
 */

#ifndef NR
#define NR 2
#endif
#ifndef NW
#define NW 2      /* requests per replica */
#endif
#ifndef SPARE
#define SPARE 0   /* so many of the last requests are never made */
#endif
#ifndef NO
#define NO 2      /* names of shoots */
#endif
#ifndef NB
#define NB 2      /* workers per replica */
#endif
#ifndef LIMIT
#define LIMIT 1
#endif
#ifndef RETRIES
#define RETRIES 2 /* evaluations after a conflict, before the 504; 0: as many as it takes */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef LOST
#define LOST 0    /* whether a commit's outcome may be unknown, or etcd be away */
#endif
#ifndef OPERATOR
#define OPERATOR 0
#endif
#ifndef EXPIRY
#define EXPIRY 1  /* whether waiters may time out */
#endif

#define NG (NR * NW)
#define LEDGER NO
#define QUOTA (NO + 1)
#define BINDING (NO + 2)
#define NK (NO + 3)
#define MAXREV (NG + 7)

/* a request */
#define IDLE 0
#define HOLD 1     /* has its object's claim, looks at it */
#define QUEUED 2
#define INBATCH 3
#define DONE 4
/* an answer */
#define OPEN 0
#define SUCCESS 1
#define FAILURE 2  /* refused, withdrawn, 504 "nothing was stored", 503 */
#define UNKNOWN 3  /* the outcome is said to be unknown, or nothing is said: the replica died */
/* a decision */
#define ADMIT 1
#define REFUSE 2
#define FAULT 3    /* the accounts do not add up */
/* a batch */
#define NONE 0
#define EVAL 1
#define SENT 2
#define APPLIED 3
#define CONFLICT 4
#define LATE 5     /* nobody waits for it, and it may still reach etcd */

/* etcd: its present is revision `rev`, its past is what watches deliver */
byte rev = 1;
byte mod[MAXREV * NK];   /* [revision][key]: mod_revision, 0 for absent */
byte used[MAXREV];
byte limit[MAXREV];
#define AT(revision, key) mod[(revision) * NK + (key)]
#define NOW(key) AT(rev, key)

/* replicas */
byte cached[NR];
byte aside[NR * NK];     /* as of which revision a key is known; 0: nothing is */
bit gone[NR * NK];       /* it is known as absent */
byte holder[NR * NO];
byte claimed[NR];
byte crashes = CRASHES;
byte edits = OPERATOR;

/* requests */
byte state[NG];
bit removes[NG];
byte object[NG];
byte seen[NG];
byte batch[NG];          /* 1 + worker */
byte decision[NG];
byte answer[NG];
bit noroom[NG];            /* ghost: there was no room, at some moment since the request came */
byte written[NG];        /* ghost: how often its write was applied */

/* batches */
byte stage[NR * NB];
byte ledger_seen[NR * NB];
byte quota_seen[NR * NB];
byte binding_seen[NR * NB];
byte balance[NR * NB];   /* the ledger's new value */
byte compared[NR * NB];  /* at which revision it was applied, or the guards were read after a failed compare */
byte attempts[NR * NB];

/* The properties. spin names the one that is violated; CHECK selects one, by its number. */
#ifndef CHECK
#define CHECK 0
#endif
#define HOLDS(number, property) assert(property || (CHECK && CHECK != number))
hidden byte promise_1_exact_accounting;
hidden byte promise_2_no_over_admission;
hidden byte promise_3_no_self_inflicted_conflict;
hidden byte no_dangling_reference;
hidden byte success_was_applied_once;
hidden byte failure_is_never_applied;
hidden byte refusal_is_true;
hidden byte fault_is_true;
hidden byte newest_is_no_older_than_the_cache;
hidden byte k, g, n, value, at;
hidden byte holds, any;

#define IN(g, r, b) (g / NW == r && batch[g] == b + 1)
#define REQUESTS_OF(r) g : (r) * NW .. (r) * NW + NW - 1

/* newest() of storage/transactor.py: `value` is the mod_revision, `at` as of when (for used, limit) */
inline newest(r, key) {
	if
	:: aside[(r) * NK + key] > cached[r] ->
		if
		:: gone[(r) * NK + key] -> value = 0; at = 0
		:: else -> at = aside[(r) * NK + key]; value = AT(at, key)
		fi
	:: else -> at = cached[r]; value = AT(at, key)
	fi
}

/* storage/lookaside.py `learn` */
inline learn(r, key, revision, absent) {
#ifndef NO_LOOKASIDE
	if
	:: aside[(r) * NK + key] <= revision ->
		aside[(r) * NK + key] = (revision > cached[r] -> revision : 0);
		gone[(r) * NK + key] = (revision > cached[r] -> absent : 0)
	:: else
	fi
#else
	skip
#endif
}

/* storage/transactor.py `commit`: what the failed compare of a batch returned */
inline learn_moved(r, key, revision) {
#ifdef LOOKASIDE_GUESS
	/* of an absent key: "after everything in which it was still present" */
	if
	:: AT(revision, key) -> learn(r, key, AT(revision, key), 0)
	:: else ->
		n = (aside[(r) * NK + key] > cached[r] -> aside[(r) * NK + key] : cached[r]) + 1;
		learn(r, key, n, 1)
	fi;
#else
	learn(r, key, revision, AT(revision, key) == 0);
#endif
	newest(r, key);
	n = (revision > cached[r] -> revision : cached[r]);
	newest_is_no_older_than_the_cache = false;
	do
	:: n > rev -> break
	:: else ->
		newest_is_no_older_than_the_cache = newest_is_no_older_than_the_cache || AT(n, key) == value;
		n++
	od;
	HOLDS(9, newest_is_no_older_than_the_cache)
}

inline note_room() {
	for (g : 0 .. NG - 1) {
		noroom[g] = noroom[g] || (state[g] != IDLE && state[g] != DONE && !removes[g]
			&& (used[rev] + 1 > limit[rev] || NOW(BINDING) == 0))
	}
}

inline next_revision() {
	assert(rev + 1 < MAXREV);
	for (k : 0 .. NK - 1) { AT(rev + 1, k) = NOW(k) }
	used[rev + 1] = used[rev];
	limit[rev + 1] = limit[rev];
	rev++
}

inline check_promises() {
	n = 0;
	at = 0;
	for (k : 0 .. NO - 1) { n = n + (NOW(k) != 0); at = at + (AT(rev - 1, k) != 0) };
	promise_1_exact_accounting = used[rev] == n && (NOW(LEDGER) != 0) == (used[rev] != 0);
	HOLDS(1, promise_1_exact_accounting);
	promise_2_no_over_admission = n <= at || n <= limit[rev];
	HOLDS(2, promise_2_no_over_admission);
	no_dangling_reference = n == 0 || NOW(BINDING) != 0;
	HOLDS(4, no_dangling_reference)
}

/* ---- a request ---------------------------------------------------------------------------- */

inline tell(g, what) {
	answer[g] = what;
	state[g] = DONE;
#ifndef NO_OBJECT_CLAIM
	holder[(g / NW) * NO + object[g]] = 0;
#endif
	success_was_applied_once = what != SUCCESS || written[g] == 1;
	HOLDS(5, success_was_applied_once);
	failure_is_never_applied = what != FAILURE || written[g] == 0;
	HOLDS(6, failure_is_never_applied);
	if
	:: batch[g] && stage[(g / NW) * NB + (batch[g] -> batch[g] - 1 : 0)] == LATE
	:: else -> batch[g] = 0; decision[g] = 0; seen[g] = 0
	fi;
	noroom[g] = 0
}

/* Under the object's claim. 404 and 409 are confirmed by a read; what was read is learned. */
inline look(w) {
	newest(w / NW, object[w]);
	if
	:: (value != 0) == removes[w] -> seen[w] = value; state[w] = QUEUED
	:: else ->
		learn(w / NW, object[w], rev, NOW(object[w]) == 0);
		if
		:: NOW(object[w]) == value -> tell(w, FAILURE)
		:: else -> state[w] = HOLD
		fi
	fi
}

inline arrive(w, name, is_removal) {
	object[w] = name;
	removes[w] = is_removal;
#ifndef NO_OBJECT_CLAIM
	holder[(w / NW) * NO + name] = 1;
#endif
	state[w] = HOLD;
	note_room()
}

#define MAY_ASK(w, name) (state[w] == IDLE && holder[(w / NW) * NO + name] == 0)

proctype Waiter(byte w) {
	do
	:: atomic {
		if
		:: MAY_ASK(w, 0) -> arrive(w, 0, 0)
		:: MAY_ASK(w, 0) -> arrive(w, 0, 1)
#if NO > 1
		:: MAY_ASK(w, 1) -> arrive(w, 1, 0)
		:: MAY_ASK(w, 1) -> arrive(w, 1, 1)
#endif
		:: state[w] == HOLD
		fi;
		look(w) }
#if EXPIRY
	/* evaluator.py `_expire`: only who is still queued is withdrawn */
#ifdef WITHDRAW_FROM_BATCH
	:: atomic { state[w] == INBATCH -> answer[w] = FAILURE; state[w] = DONE; holder[(w / NW) * NO + object[w]] = 0 }
#endif
	:: atomic { state[w] == QUEUED -> answer[w] = FAILURE; state[w] = DONE; holder[(w / NW) * NO + object[w]] = 0 }
#endif
	:: state[w] == DONE -> break
	od
}

/* ---- a batch ------------------------------------------------------------------------------ */

inline end_batch(r, b) {
	stage[(r) * NB + b] = NONE;
	ledger_seen[(r) * NB + b] = 0; quota_seen[(r) * NB + b] = 0; binding_seen[(r) * NB + b] = 0;
	balance[(r) * NB + b] = 0; compared[(r) * NB + b] = 0; attempts[(r) * NB + b] = 0;
	claimed[r] = 0
}

/* Who is in it: only those who have not been answered, and only once */
inline fail_all(r, b, what) {
	for (REQUESTS_OF(r)) {
		if
		:: IN(g, r, b) && state[g] == INBATCH -> tell(g, what)
		:: else
		fi
	}
}

/* books.py: the newest values, the changes in order, against running books. Then the transaction
 * is sent, or, where nothing is to be written, the refusals are confirmed by a read. */
inline evaluate(r, b) {
	newest(r, LEDGER); ledger_seen[(r) * NB + b] = value;
	balance[(r) * NB + b] = (value != 0 -> used[at] : 0);
	newest(r, BINDING); binding_seen[(r) * NB + b] = value;
	newest(r, QUOTA); quota_seen[(r) * NB + b] = value; /* `at` is now the limit's */
	any = false;
	for (REQUESTS_OF(r)) {
		if
		:: IN(g, r, b) && removes[g] ->
			if
			:: balance[(r) * NB + b] == 0 || binding_seen[(r) * NB + b] == 0 ->
				decision[g] = FAULT
#ifdef FAULT_UNCONFIRMED
				; fault_is_true = false; HOLDS(8, fault_is_true)
#endif
			:: else -> decision[g] = ADMIT; any = true; balance[(r) * NB + b]--
			fi
		:: IN(g, r, b) && !removes[g] ->
			if
			:: binding_seen[(r) * NB + b] == 0 || balance[(r) * NB + b] + 1 > limit[at] ->
				decision[g] = REFUSE
			:: else -> decision[g] = ADMIT; any = true; balance[(r) * NB + b]++
			fi
		:: else
		fi
	};
	if
	:: any -> stage[(r) * NB + b] = SENT
	:: else ->
#ifdef REFUSE_UNCONFIRMED
		refuse(r, b)
#else
		guards(r, b);
		learn(r, LEDGER, rev, NOW(LEDGER) == 0);
		learn(r, QUOTA, rev, false);
		learn(r, BINDING, rev, NOW(BINDING) == 0);
		for (REQUESTS_OF(r)) {
			if
			:: IN(g, r, b) -> learn(r, object[g], rev, NOW(object[g]) == 0)
			:: else
			fi
		};
		if
		:: holds -> refuse(r, b)
		:: else -> hand_back(r, b)
		fi
#endif
	fi
}

inline refuse(r, b) {
	for (REQUESTS_OF(r)) {
		if
		:: IN(g, r, b) && state[g] == INBATCH ->
			refusal_is_true = decision[g] != REFUSE || noroom[g];
			HOLDS(7, refusal_is_true);
			fault_is_true = decision[g] != FAULT;
			HOLDS(8, fault_is_true);
			tell(g, FAILURE)
		:: else
		fi
	};
	end_batch(r, b)
}

/* Whose own object moved starts over, with its caller; the others are evaluated again. */
inline hand_back(r, b) {
	any = false;
	for (REQUESTS_OF(r)) {
		if
		:: IN(g, r, b) && state[g] == INBATCH ->
			newest(r, object[g]);
			decision[g] = 0;
			if
			:: value != seen[g] -> state[g] = HOLD; batch[g] = 0; seen[g] = 0
			:: else -> any = true
			fi
		:: else
		fi
	};
	attempts[(r) * NB + b] = attempts[(r) * NB + b] + (RETRIES > 0);
	compared[(r) * NB + b] = 0;
	if
	:: any && (RETRIES == 0 || attempts[(r) * NB + b] <= RETRIES) -> stage[(r) * NB + b] = EVAL
	:: else -> fail_all(r, b, FAILURE); end_batch(r, b)
	fi
}

/* The compares of a transaction, on etcd's present */
inline guards(r, b) {
	holds = true;
#ifndef NO_LEDGER_GUARD
	holds = holds && NOW(LEDGER) == ledger_seen[(r) * NB + b];
#endif
#ifndef NO_QUOTA_GUARD
	holds = holds && NOW(QUOTA) == quota_seen[(r) * NB + b];
#endif
#ifndef NO_BINDING_GUARD
	holds = holds && NOW(BINDING) == binding_seen[(r) * NB + b];
#endif
#ifndef NO_OBJECT_GUARD
	for (REQUESTS_OF(r)) {
		holds = holds && (!IN(g, r, b) || NOW(object[g]) == seen[g])
	};
#endif
}

/* What the same requests would be told on etcd's true values, at the moment of the compare. A
 * request that is refused within a batch is refused at a moment between its neighbours. */
inline check_refusals(r, b) {
	n = used[rev];
	for (REQUESTS_OF(r)) {
		if
		:: IN(g, r, b) && decision[g] == ADMIT -> n = (removes[g] -> n - 1 : n + 1)
		:: IN(g, r, b) && decision[g] == REFUSE ->
			noroom[g] = noroom[g] || n + 1 > limit[rev] || NOW(BINDING) == 0
		:: else
		fi
	}
}

inline apply(r, b) {
	check_refusals(r, b);
	next_revision();
	for (REQUESTS_OF(r)) {
		if
		:: IN(g, r, b) && decision[g] == ADMIT ->
			NOW(object[g]) = (removes[g] -> 0 : rev);
			written[g]++;
			failure_is_never_applied = answer[g] != FAILURE;
			HOLDS(6, failure_is_never_applied)
		:: else
		fi
	};
	used[rev] = balance[(r) * NB + b];
	NOW(LEDGER) = (used[rev] -> rev : 0);
	check_promises();
	note_room()
}

inline settle(r, b) {
	learn(r, LEDGER, compared[(r) * NB + b], AT(compared[(r) * NB + b], LEDGER) == 0);
	for (REQUESTS_OF(r)) {
		if
		:: IN(g, r, b) && decision[g] == ADMIT -> learn(r, object[g], compared[(r) * NB + b], removes[g])
		:: else
		fi
	};
	for (REQUESTS_OF(r)) {
		if
		:: IN(g, r, b) && state[g] == INBATCH && decision[g] == ADMIT -> tell(g, SUCCESS)
		:: IN(g, r, b) && state[g] == INBATCH && decision[g] == REFUSE ->
			refusal_is_true = noroom[g];
			HOLDS(7, refusal_is_true);
			tell(g, FAILURE)
		:: IN(g, r, b) && state[g] == INBATCH && decision[g] == FAULT ->
			fault_is_true = false;
			HOLDS(8, fault_is_true);
			tell(g, FAILURE)
		:: else
		fi
	};
	end_batch(r, b)
}

inline learn_conflict(r, b) {
	if
	:: AT(compared[(r) * NB + b], LEDGER) != ledger_seen[(r) * NB + b] -> learn_moved(r, LEDGER, compared[(r) * NB + b])
	:: else
	fi;
	if
	:: AT(compared[(r) * NB + b], QUOTA) != quota_seen[(r) * NB + b] -> learn_moved(r, QUOTA, compared[(r) * NB + b])
	:: else
	fi;
	if
	:: AT(compared[(r) * NB + b], BINDING) != binding_seen[(r) * NB + b] -> learn_moved(r, BINDING, compared[(r) * NB + b])
	:: else
	fi;
	for (REQUESTS_OF(r)) {
		if
		:: IN(g, r, b) && AT(compared[(r) * NB + b], object[g]) != seen[g] ->
			learn_moved(r, object[g], compared[(r) * NB + b])
		:: else
		fi
	}
}

inline form_batch(r, b) {
	any = false;
	for (REQUESTS_OF(r)) {
		if
		:: state[g] == QUEUED -> state[g] = INBATCH; batch[g] = b + 1; any = true
		:: else
		fi
	}
}

#if NW == 1
#define SOMEBODY_QUEUED(r) (state[r] == QUEUED)
#define ALL_DONE(r) (state[r] == DONE)
#elif NW == 2
#define SOMEBODY_QUEUED(r) (state[2 * r] == QUEUED || state[2 * r + 1] == QUEUED)
#define ALL_DONE(r) (state[2 * r] == DONE && state[2 * r + 1] == DONE)
#else
#define SOMEBODY_QUEUED(r) (state[3 * r] == QUEUED || state[3 * r + 1] == QUEUED || state[3 * r + 2] == QUEUED)
#define ALL_DONE(r) (state[3 * r] == DONE && state[3 * r + 1] == DONE && state[3 * r + 2] == DONE)
#endif

#ifdef NO_CLAIMS
#define FREE(r) true
#else
#define FREE(r) (claimed[r] == 0)
#endif

proctype Batch(byte r; byte b) {
	do
	:: atomic {
		if
		:: stage[r * NB + b] == NONE && FREE(r) && SOMEBODY_QUEUED(r) -> claimed[r] = 1; form_batch(r, b)
		:: stage[r * NB + b] == EVAL
		fi;
		evaluate(r, b) }
	:: atomic { stage[r * NB + b] == SENT ->
		guards(r, b);
		if
		:: holds -> apply(r, b); stage[r * NB + b] = APPLIED
		:: else ->
			promise_3_no_self_inflicted_conflict = NR > 1 || LOST || CRASHES || OPERATOR;
			HOLDS(3, promise_3_no_self_inflicted_conflict);
			stage[r * NB + b] = CONFLICT
		fi;
		compared[r * NB + b] = rev }
#ifdef ANSWER_EARLY
	:: atomic { stage[r * NB + b] == SENT -> fail_all(r, b, SUCCESS) }
#endif
	:: atomic { stage[r * NB + b] == APPLIED -> settle(r, b) }
	:: atomic { stage[r * NB + b] == CONFLICT ->
		/* The guards are read after the compare: at once, or late. */
		if
		:: true
		:: compared[r * NB + b] = rev
		fi;
		learn_conflict(r, b);
		hand_back(r, b) }
#if LOST
	/* 503: never applied. 504: applied, or not; if not, perhaps later. */
	:: atomic { stage[r * NB + b] >= SENT && stage[r * NB + b] <= CONFLICT ->
		if
		:: stage[r * NB + b] == SENT -> value = FAILURE
		:: stage[r * NB + b] == SENT -> value = UNKNOWN; stage[r * NB + b] = LATE
		:: stage[r * NB + b] != SENT -> value = UNKNOWN
		fi;
		fail_all(r, b, value);
		if
		:: stage[r * NB + b] == LATE -> claimed[r] = 0
		:: else -> end_batch(r, b)
		fi }
#endif
	/* What is late is applied, fails, or never comes through. */
	:: atomic { stage[r * NB + b] == LATE ->
		guards(r, b);
		if
		:: holds -> apply(r, b)
		:: true
		fi;
		for (REQUESTS_OF(r)) {
			if
			:: IN(g, r, b) -> batch[g] = 0; decision[g] = 0; seen[g] = 0
			:: else
			fi
		};
		n = claimed[r]; end_batch(r, b); claimed[r] = n }
	:: atomic { ALL_DONE(r) && stage[r * NB + b] == NONE -> break }
	od
}

/* storage/cache: revisions come one by one, in order, at any pace; the look-aside drops what is passed */
proctype Watch(byte r) {
end_watch:
	do
	:: atomic { cached[r] < rev && !ALL_DONE(r) ->
		cached[r]++;
		for (k : 0 .. NK - 1) {
			if
			:: aside[r * NK + k] <= cached[r] -> aside[r * NK + k] = 0; gone[r * NK + k] = 0
			:: else
			fi
		} }
	:: ALL_DONE(r) -> break
	od
}

/* kill -9 and restart: all memory is lost, what was sent may still arrive, the cache is listed anew */
proctype Crash(byte r) {
end_crash:
	atomic { crashes > 0 && !ALL_DONE(r) ->
		crashes--;
		for (REQUESTS_OF(r)) {
			if
			:: state[g] == HOLD || state[g] == QUEUED || state[g] == INBATCH ->
				state[g] = DONE; answer[g] = UNKNOWN;
				if
				:: batch[g] && stage[r * NB + batch[g] - 1] == SENT
				:: else -> batch[g] = 0; decision[g] = 0; seen[g] = 0
				fi
			:: else
			fi
		};
		for (n : 0 .. NB - 1) {
			if
			:: stage[r * NB + n] == SENT || stage[r * NB + n] == LATE -> stage[r * NB + n] = LATE
			:: else -> end_batch(r, n)
			fi
		};
		claimed[r] = 0;
		for (k : 0 .. NK - 1) { aside[r * NK + k] = 0; gone[r * NK + k] = 0 };
		for (k : 0 .. NO - 1) { holder[r * NO + k] = 0 };
		cached[r] = rev }
}

/* The limit is lowered; the binding is deleted where no shoot uses it. Each as a guarded
 * transaction of somebody whose values are fresh: one that is not fresh changes nothing. */
proctype Operator() {
end_operator:
	do
	:: atomic { edits > 0 && limit[rev] > 0 ->
		edits--; next_revision(); limit[rev]--; NOW(QUOTA) = rev; check_promises(); note_room() }
	:: atomic { edits > 0 && NOW(BINDING) && NOW(LEDGER) == 0 ->
		edits--; next_revision(); NOW(BINDING) = 0; check_promises(); note_room() }
	:: edits == 0 -> break
	od
}

init {
	atomic {
		AT(1, QUOTA) = 1; AT(1, BINDING) = 1; limit[1] = LIMIT;
		/* one shoot is there already, or none */
		if
		:: AT(1, 0) = 1; AT(1, LEDGER) = 1; used[1] = 1
		:: true
		fi;
		for (n : 0 .. NR - 1) {
			cached[n] = 1;
			run Watch(n)
		};
		for (n : 0 .. NR - 1) {
			for (k : 0 .. NB - 1) { run Batch(n, k) }
		};
		for (n : NG - SPARE + 1 .. NG) { state[n - 1] = DONE };
		for (n : 0 .. NG - 1) { run Waiter(n) };
#if CRASHES
		for (n : 0 .. NR - 1) { run Crash(n) };
#endif
#if OPERATOR
		run Operator()
#endif
	}
}

#ifdef LIVENESS
#if NR == 1
ltl everybody_is_answered { <> ALL_DONE(0) }
#else
ltl everybody_is_answered { <> (ALL_DONE(0) && ALL_DONE(1)) }
#endif
#endif
