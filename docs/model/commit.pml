/* Group commit: from transactions to outcomes, over a network that loses, doubles, delays and reorders.
 *
 *   Sender    storage/etcd/group_commit.py `run`, storage/etcd/attempt.py, storage/etcd/merging.py `split`
 *   shut      storage/etcd/fence.py
 *   Etcd      takes sendings in any order; guards and writes are one step; its answer may be lost
 *   Other     another replica, always well informed: creates, overwrites and removes the same keys
 *
 * Two transactions. Each writes one key of its own: creates it (guarded as absent), overwrites it
 * or removes it (guarded at its revision). A put carries the group's id, a removal nothing. A group
 * that overwrites nothing puts the fence, too.
 */

#ifndef SENDINGS
#define SENDINGS 3  /* in all */
#endif
#ifndef EDITS
#define EDITS 2     /* of the other replica */
#endif
#ifndef STRAYS
#define STRAYS 1    /* raisings of the fence whose answer is lost, or that come late */
#endif

#ifndef DOUBLES
#define DOUBLES 1   /* sendings that what stands between makes two of */
#endif

#ifndef MUTUAL
#define MUTUAL 0
#endif

#define MAXREV (4 + 2 * SENDINGS + EDITS + STRAYS + SENDINGS)
#define BOTH 3
#define BIT(m) (1 << (m))
/* an answer */
#define OPEN 0
#define SUCCESS 1
#define FAILURE 2   /* Unavailable, "nothing was written" */
#define MOVED 3     /* Conflict */
#define UNKNOWN 4   /* OutcomeUnknown */

/* etcd, and its history: by which group a revision was made */
byte rev = 2;
byte key_mod[2];
byte key_id[2];
byte fence;
byte fence_id;
byte made_by[MAXREV];

/* the transactions */
bit removes[2];
byte guard[2];
bit mutual;          /* MUTUAL: each guards the other's key, too: a binding's removal and a shoot's create */
byte answer[2];
byte applied[2];     /* ghost */
byte left = BOTH;

/* sendings: how many copies are in the network */
byte net[SENDINGS];
byte net_id[SENDINGS];
byte net_group[SENDINGS];
byte net_fence[SENDINGS];
byte sent;
byte waiting_for;    /* 1 + sending */

/* the answer that the sender got, and what it read after a failed compare */
byte got;            /* 0 none, 1 compares failed, 2 succeeded */
byte got_rev;        /* of the success */
byte got_mod[2];
bit got_mine[2];

byte edits = EDITS;
byte strays = STRAYS;
byte doubles = DOUBLES;
byte pending_fences;

/* The properties. spin names the one that is violated; CHECK selects one, by its number. */
#ifndef CHECK
#define CHECK 0
#endif
#define HOLDS(number, property) assert(property || (CHECK && CHECK != number))
hidden byte applied_at_most_once;
hidden byte success_was_applied;
hidden byte failure_is_never_applied;
hidden byte promise_3_conflict_is_others_doing;
hidden byte merged_is_as_alone;
hidden byte m, n, holds, value;

/* merging.py `raises_fence` */
#define OVERWRITES(m) (guard[m] && !removes[m])
#ifdef NO_RAISING
#define RAISES(group) false
#else
#define RAISES(group) (!(group & 1 && OVERWRITES(0)) && !(group & 2 && OVERWRITES(1)))
#endif

inline guards_hold(group, fence_revision) {
	holds = true;
#ifndef NO_FENCE_COMPARE
	holds = fence == fence_revision;
#endif
	for (m : 0 .. 1) {
		holds = holds && (!(group & BIT(m)) || (key_mod[m] == guard[m] && (!mutual || key_mod[1 - m] == guard[1 - m])))
	}
}

inline apply(group, id) {
	rev++;
	assert(rev < MAXREV);
	merged_is_as_alone = !(mutual && group == BOTH);
	HOLDS(5, merged_is_as_alone);
	made_by[rev] = 0;
	if
	:: RAISES(group) -> fence = rev; fence_id = id; made_by[rev] = id
	:: else
	fi;
	for (m : 0 .. 1) {
		if
		:: group & BIT(m) ->
			key_mod[m] = (removes[m] -> 0 : rev);
			key_id[m] = (removes[m] -> 0 : id);
			if
			:: !removes[m] -> made_by[rev] = id
			:: else
			fi;
			applied[m]++;
			applied_at_most_once = applied[m] <= 1;
			HOLDS(1, applied_at_most_once);
			failure_is_never_applied = answer[m] != FAILURE && answer[m] != MOVED;
			HOLDS(3, failure_is_never_applied)
		:: else
		fi
	}
}

/* What no later step looks at is cleared, so that states are equal that do not differ. */
inline forget_answer() {
	got = 0; got_rev = 0;
	got_mod[0] = 0; got_mod[1] = 0; got_mine[0] = 0; got_mine[1] = 0
}

inline tell(group, what) {
	for (m : 0 .. 1) {
		if
		:: group & BIT(m) ->
			answer[m] = what;
			success_was_applied = what != SUCCESS || applied[m] == 1;
			HOLDS(2, success_was_applied);
			failure_is_never_applied = (what != FAILURE && what != MOVED) || applied[m] == 0;
			HOLDS(3, failure_is_never_applied);
			promise_3_conflict_is_others_doing = what != MOVED || edits < EDITS || applied[1 - m];
			HOLDS(4, promise_3_conflict_is_others_doing)
		:: else
		fi
	}
}

active proctype Etcd() {
	byte s;
end_etcd:
	do
	:: atomic { net[0] -> s = 0; goto arrived }
#if SENDINGS > 1
	:: atomic { net[1] -> s = 1; goto arrived }
#endif
#if SENDINGS > 2
	:: atomic { net[2] -> s = 2; goto arrived }
#endif
#if SENDINGS > 3
	:: atomic { net[3] -> s = 3; goto arrived }
#endif
	:: atomic { pending_fences > 0 -> pending_fences--; rev++; fence = rev; fence_id = 0 }
	:: atomic { false ->
arrived:
		/* What is lost on the way is never taken; an answer that is lost comes after the time-out. */
		net[s]--;
		guards_hold(net_group[s], net_fence[s]);
		if
		:: holds -> apply(net_group[s], net_id[s])
		:: else
		fi;
		if
		:: waiting_for == s + 1 && !got ->
			got = 1 + holds;
			got_rev = (holds -> rev : 0)
		/* the answer to another copy is passed on */
		:: waiting_for == s + 1 && net[s]
		:: else
		fi;
		if
		:: net[s] == 0 -> net_id[s] = 0; net_group[s] = 0; net_fence[s] = 0
		:: else
		fi;
		s = 0 }
	od
}

active proctype Other() {
end_other:
	do
	:: atomic { edits > 0 ->
		edits--;
		if
		:: m = 0
		:: m = 1
		fi;
		rev++;
		assert(rev < MAXREV);
		if
		:: key_mod[m] -> key_mod[m] = 0; key_id[m] = 0
		:: true -> key_mod[m] = rev; key_id[m] = 0
		fi }
	od
}

/* attempt.py `_is_doubtful`, `_moved` */
#define MOVES(m) (got_mod[m] != guard[m])
#define LEFT(group, m) (group & BIT(m) && guard[m] && !MOVES(m))
#define GUARDS(group, m) (group & BIT(m) || mutual)
#define VALUE_MOVED(group) ((GUARDS(group, 0) && MOVES(0) && guard[0]) || (GUARDS(group, 1) && MOVES(1) && guard[1]))
#ifdef DOUBT_NO_REMOVAL
#define UNTOUCHED(group) (LEFT(group, 0) || LEFT(group, 1) || (group & 1 && !MOVES(0)) || (group & 2 && !MOVES(1)))
#else
#define UNTOUCHED(group) (LEFT(group, 0) || LEFT(group, 1))
#endif
#define DOUBTFUL(group) (!VALUE_MOVED(group) || ((fence_moved || !RAISES(group)) && !UNTOUCHED(group)))
#define REPLACED(group, m) (group & BIT(m) && guard[m] && got_mod[m])
#define OVERWRITTEN(group) (DOUBTFUL(group) && VALUE_MOVED(group) && (REPLACED(group, 0) || REPLACED(group, 1)))

active proctype Sender() {
	byte group, id, known, fence_seen, until, seen = 2;
	bit uncertain, fence_moved, refused;

	atomic {
		if
		:: true
		:: key_mod[0] = 1; guard[0] = 1
		:: key_mod[0] = 1; guard[0] = 1; removes[0] = 1
		fi;
		/* The keys are alike: only one of two mixed pairs is needed. */
		if
		:: true
		:: guard[0] -> key_mod[1] = 2; guard[1] = 2
		:: removes[0] -> key_mod[1] = 2; guard[1] = 2; removes[1] = 1
		fi;
		mutual = MUTUAL
	};

next:
	atomic {
		group = 0; uncertain = 0; known = 0; until = 0; fence_moved = 0; refused = 0;
		forget_answer();
		for (n : 0 .. seen) { made_by[n] = 0 };
		if
		:: left == 0 -> goto done
		:: left & 1 -> group = 1
		:: left & 2 -> group = 2
#ifdef MERGE_DISTURBED
		:: left == BOTH -> group = BOTH
#else
		:: left == BOTH && !mutual -> group = BOTH /* merging.py `is_disturbed_by` */
#endif
		fi;
		left = left & (BOTH - group);
		id++;
		known = seen /* attempt.py `_known_revision` */
	};

send:
	atomic {
		forget_answer();
		if
		:: sent < SENDINGS ->
			net[sent] = 1; net_id[sent] = id; net_group[sent] = group; net_fence[sent] = fence_seen;
			if
			:: doubles > 0 -> doubles--; net[sent] = 2
			:: true
			fi;
			sent++;
			waiting_for = sent
		:: true -> goto give_up
		fi
	};

	if
	:: atomic { got -> waiting_for = 0; goto judge }
	/* attempt_seconds are over, or the connection broke */
	:: atomic { waiting_for -> waiting_for = 0; forget_answer(); uncertain = 1 }
	fi;
#if defined(BLIND_RETRY) || defined(NO_HISTORY)
	/* the identical bytes once more */
	goto send;
#else
	goto shut;
#endif

judge:
	atomic {
		/* attempt.py `_judge`: after a failed compare the guards are read, later than the compare */
		seen = rev;
		if
		:: got == 2 ->
			fence_seen = (RAISES(group) -> got_rev : fence_seen);
			tell(group, SUCCESS); goto next
		:: else
		fi;
		fence_moved = fence != fence_seen;
		fence_seen = fence;
		for (m : 0 .. 1) {
			got_mod[m] = key_mod[m];
#ifdef RECOGNISE_BY_KEY
			got_mine[m] = key_mod[m] > guard[m]
#else
			got_mine[m] = key_mod[m] && key_id[m] == id
#endif
		};
#ifndef BLIND_RETRY
		if
#ifndef NO_RECOGNITION
		:: fence_id == id || (group & 1 && got_mine[0]) || (group & 2 && got_mine[1]) ->
			tell(group, SUCCESS); goto next
#endif
		:: else -> refused = 1
		fi;
		if
#ifdef NO_DOUBT
		:: uncertain -> goto shut
#else
		:: !uncertain && OVERWRITTEN(group) ->
			uncertain = 1;
			until = (REPLACED(group, 0) -> got_mod[0] : 0);
			until = (REPLACED(group, 1) && got_mod[1] > until -> got_mod[1] : until);
			goto history
		:: uncertain || (DOUBTFUL(group) && !OVERWRITTEN(group)) ->
			uncertain = 1;
			goto shut
#endif
		:: else
		fi;
#endif
		goto route
	};

shut:
#ifdef NO_HISTORY
	goto route;
#endif
#ifndef NO_FENCE
	if
	:: atomic { rev++; fence = rev; fence_id = 0; fence_seen = rev; until = rev }
	:: atomic { strays > 0 -> strays--; rev++; fence = rev; fence_id = 0; goto shut }
	:: atomic { strays > 0 -> strays--; pending_fences++; goto shut }
	:: goto give_up
	fi;
#endif
history:
	/* attempt.py `_find_in_history`: the events up to the fence, or to what replaced a value */
	atomic {
		value = 0;
#ifdef NO_FENCE
		for (n : known + 1 .. rev) {
#else
		for (n : known + 1 .. until) {
#endif
			value = value || made_by[n] == id
		};
		seen = rev;
		uncertain = 0;
		if
		:: value -> tell(group, SUCCESS); goto next
		:: else
		fi;
		/* It was not applied and cannot be any more. What has no answer goes as if for the first time. */
		if
		:: refused -> goto route
		:: else -> left = left | group; goto next
		fi
	};

route:
	/* Who guards a key that moved is told so; the others go again. */
	atomic {
		value = 0;
		for (m : 0 .. 1) {
			if
			:: group & BIT(m) && (got_mod[m] != guard[m] || (mutual && got_mod[1 - m] != guard[1 - m])) ->
				value = value | BIT(m)
			:: else
			fi
		};
		left = left | (group & (BOTH - value));
		tell(value, MOVED);
		goto next
	};

give_up:
	/* the deadline */
	atomic {
		tell(group, (uncertain -> UNKNOWN : FAILURE));
		if
		:: left & 1 -> tell(1, FAILURE)
		:: else
		fi;
		if
		:: left & 2 -> tell(2, FAILURE)
		:: else
		fi;
		left = 0
	};

done:
	atomic {
		forget_answer();
		for (n : 0 .. MAXREV - 1) { made_by[n] = 0 };
		group = 0; known = 0; until = 0; id = 0; fence_seen = 0; seen = 0; uncertain = 0; fence_moved = 0; refused = 0;
		assert(answer[0] && answer[1])
	}
}
