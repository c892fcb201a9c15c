/* Controllers: what a leader decides from what it has read, and writes later.
 *
 *   Replica   quotaapi/controllers/leader.py, resync.py, lifetime.py; admission/quota/recount.py
 *   Lease     etcd's: it ends whenever it likes, and takes the key with it
 *   Clients   shoots come and go, each with its charge in the same transaction; one has its life extended
 *   Spoiler   somebody who writes a ledger past the server
 *
 * A replica never learns by itself that its lease has ended: between any two of its steps it may have
 * been stopped for as long as one likes. What it sends arrives whenever it arrives, or never.
 */

#ifndef NR
#define NR 2
#endif
#ifndef TERMS
#define TERMS 3    /* how often the key is taken */
#endif
#ifndef CHANGES
#define CHANGES 2  /* of clients */
#endif
#ifndef SPOILT
#define SPOILT 1
#endif

/* etcd */
byte rev = 1;
byte key;              /* the leader's key: mod_revision, 0 for absent */
byte holder;           /* ghost: 1 + who took it */
byte shoots = 1;       /* how many exist */
byte ledger = 1;       /* what it holds */
byte ledger_mod = 1;
bit present = 1;       /* one shoot among them has a lifetime */
bit expired = 1;
byte object_mod = 1;

/* a replica */
#define IDLE 0
#define LEADS 1
#define COUNTED 2      /* has read everything at one revision */
#define REPAIRS 3      /* its repair is on its way */
#define JUDGED 4       /* has read an expired shoot */
#define DELETES 5
byte state[NR];
byte mandate[NR];
byte seen_count[NR];
byte seen_mod[NR];

byte terms = TERMS;
byte changes = CHANGES;
byte spoilt = SPOILT;

#ifndef CHECK
#define CHECK 0
#endif
#define HOLDS(number, property) assert(property || (CHECK && CHECK != number))
hidden byte only_who_leads_writes;
hidden byte a_repair_is_right;
hidden byte only_what_is_expired_is_deleted;

#ifdef NO_MANDATE
#define MANDATE(r) true
#elif defined(ANY_LEADER)
#define MANDATE(r) (key != 0)
#else
#define MANDATE(r) (key == mandate[r])
#endif
#ifdef REPAIR_UNGUARDED
#define UNMOVED(r) true
#else
#define UNMOVED(r) (ledger_mod == seen_mod[r])
#endif
#ifdef DELETE_UNGUARDED
#define UNTOUCHED(r) (present != 0)
#else
#define UNTOUCHED(r) (object_mod == seen_mod[r])
#endif

inline check_leader(r) {
	only_who_leads_writes = holder == r + 1;
	HOLDS(1, only_who_leads_writes)
}

proctype Replica(byte r) {
end_replica:
	do
	:: atomic { state[r] == IDLE && key == 0 && terms > 0 ->
		terms--; rev++; key = rev; holder = r + 1; mandate[r] = rev; state[r] = LEADS }
	/* all at one revision, ledger and shoots */
	:: atomic { state[r] == LEADS && ledger != shoots ->
		seen_count[r] = shoots; seen_mod[r] = ledger_mod; state[r] = COUNTED }
	:: atomic { state[r] == LEADS && present && expired ->
		seen_mod[r] = object_mod; state[r] = JUDGED }
	:: atomic { state[r] == COUNTED -> state[r] = REPAIRS }
	:: atomic { state[r] == JUDGED -> state[r] = DELETES }
	:: atomic { state[r] == REPAIRS ->
		if
		:: MANDATE(r) && UNMOVED(r) ->
			check_leader(r);
			rev++; ledger = seen_count[r]; ledger_mod = rev;
			a_repair_is_right = ledger == shoots;
			HOLDS(2, a_repair_is_right)
		:: else
		fi;
		seen_count[r] = 0; seen_mod[r] = 0; state[r] = LEADS }
	:: atomic { state[r] == DELETES ->
		if
		:: MANDATE(r) && UNTOUCHED(r) && ledger > 0 ->
			check_leader(r);
			only_what_is_expired_is_deleted = present && expired;
			HOLDS(3, only_what_is_expired_is_deleted);
			rev++; present = 0; object_mod = 0; shoots--; ledger--; ledger_mod = rev
		:: else
		fi;
		seen_mod[r] = 0; state[r] = LEADS }
	/* lost, or it notices at last; what it has sent is then on its way no more */
	:: atomic { state[r] != IDLE -> state[r] = IDLE; mandate[r] = 0; seen_count[r] = 0; seen_mod[r] = 0 }
	od
}

proctype Lease() {
end_lease:
	do
	:: atomic { key != 0 -> rev++; key = 0; holder = 0 }
	od
}

proctype Clients() {
end_clients:
	do
	:: atomic { changes > 0 -> changes--; rev++; shoots++; ledger++; ledger_mod = rev }
	:: atomic { changes > 0 && shoots > present && ledger > 0 ->
		changes--; rev++; shoots--; ledger--; ledger_mod = rev }
	:: atomic { changes > 0 && present -> changes--; rev++; object_mod = rev; expired = 1 - expired }
	od
}

proctype Spoiler() {
end_spoiler:
	do
	:: atomic { spoilt > 0 -> spoilt--; rev++; ledger_mod = rev; ledger = shoots + 1 }
	od
}

init {
	atomic {
		byte n;
		for (n : 0 .. NR - 1) { run Replica(n) };
		run Lease(); run Clients(); run Spoiler()
	}
}
