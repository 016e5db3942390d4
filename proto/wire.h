/* wire: the header frame of every message between our processes.
 *
 * A message is a header frame and up to BODY_FRAMES_MAX body frames. The header is an
 * 8-byte preamble ("FL", version, type, flags, three zero bytes) and one msgpack map with
 * small integer keys (fields.def; docs/protocol.md has the table and test vectors).
 * Bodies are msgpack values that the broker forwards untouched.
 *
 * The decoder believes nothing: sizes, counts, depth, types, repeated keys and trailing
 * bytes are checked before anything is allocated from them. Unknown keys are skipped. */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "bounds.h"
#include "value.h"

#define WIRE_VERSION 1u
#define SESSION_BYTES 32u /* hex digits, small */

enum message_type {
#define MSG(name, number, way, text) MSG_##name = number,
#include "messages.def"
#undef MSG
};

enum wire_code {
#define CODE(name, number, retry, text) CODE_##name = number,
#include "codes.def"
#undef CODE
};

enum wire_flag {
	WIRE_RESEND = 1, /* sent before under the same call id */
	WIRE_ONCE = 2, /* CALL: not idempotent, must not run again when its worker dies */
	WIRE_STREAM = 4, /* CALL: send PROGRESS */
	WIRE_INTERNAL =
	    8, /* CALL: made by a middleware; kept out of the user's token stream */
	WIRE_QUIET = 16, /* HELLO: the sender publishes only what WANTED says; tell it */
};

enum wire_role {
	ROLE_NONE,
	ROLE_COORDINATOR,
	ROLE_WORKER,
	ROLE_CLIENT,
};

struct wire_service {
	const char *name; /* "tool:search" */
	uint32_t credit;  /* free slots for it; all services of a session share one pool:
			     see CREDIT */
};

enum wire_call_state {
	CALL_RUNNING = 1,
	CALL_FINISHED = 2, /* its RESULT follows */
	CALL_ABSENT = 3,   /* the worker has had it, and has it no more: see SEEK */
};

struct wire_call {
	const char *call_id;
	enum wire_call_state state;
	uint64_t epoch; /* in RESULT_ACK: as that of a header */
};

/* A decoded header. Absent fields are zero or NULL. Strings are lent by the arena it was
 * decoded into. The number behind each field is its key on the wire; bounds are in
 * fields.def, what a message cannot do without in requires.def. */
struct header {
	enum message_type type;
	unsigned flags;          /* enum wire_flag */
	const char *call_id;     /* 1 */
	const char *run;         /* 2 */
	uint64_t step;           /* 3 */
	uint64_t attempt;        /* 4: counted by the broker, from 1 */
	uint64_t epoch;          /* 5 */
	const char *service;     /* 6 */
	uint64_t deadline_ms;    /* 7: left from now, relative */
	uint64_t priority;       /* 8: 0 (first) to 4; 2 is usual */
	const char *tenant;      /* 9 */
	uint64_t seq;            /* 10: of PROGRESS, from 1 */
	uint64_t credit;         /* 11: free slots of the session */
	const char *traceparent; /* 12 */
	const char *topic;       /* 13 */
	uint64_t code;           /* 14: enum wire_code */
	const char *reason;      /* 15: for people */
	uint64_t retry_after_ms; /* 16 */
	const char *session;     /* 17: 32 hex digits, new with each start of a process */
	const char *name;        /* 18: of the process, for people: "worker-tools-1" */
	uint64_t role;           /* 19: enum wire_role */
	uint64_t protocol_min;   /* 20 */
	uint64_t protocol_max;   /* 21 */
	uint64_t heartbeat_ms;   /* 22 */
	uint64_t liveness_ms;    /* 23 */
	uint64_t load;           /* 24: calls running */
	uint64_t capacity;       /* 25: slots in all */
	const char *idempotency_key;         /* 26 */
	const struct wire_service *services; /* 27: array of [name, credit] */
	size_t service_count;
	const struct wire_call
	    *calls; /* 28: array of [call id, state] or, with an epoch, of three */
	size_t call_count;
	uint64_t lag_ms;    /* 29: the loop's longest turn of the last seconds */
	uint64_t oldest_ms; /* 30: age of the oldest running call */
	uint64_t uptime_ms; /* 31: of the process */
	uint64_t restarts;  /* 32: of the process, by its supervisor */
	uint64_t probes;    /* 33: 1: HELLO of a worker that answers PROBE */
	uint64_t lists;     /* 34: 1: who reads calls in CALL_ACK and RESULT_ACK */
};

/* Appends header's bytes (preamble and map, only what is set) to packet. A reason that is
 * too long is cut; for the rest, fields out of bounds are refused by the receiver. */
void wire_encode(struct packet *packet, const struct header *header);

/* Decodes size bytes. Returns 0 and fills *header_r, or -1 with a code and a reason lent
 * for ever; then *header_r is not touched. */
int wire_decode(struct arena *arena, const void *data, size_t size,
    struct header *header_r, enum wire_code *code_r, const char **reason_r);

/* What wire_decode would say of header, encoded, which has neither services nor calls: 0, or -1
 * with a code and a reason lent for ever. */
int wire_check(
    const struct header *header, enum wire_code *code_r, const char **reason_r);

/* Returns "CALL" for MSG_CALL, "?" for what is none. */
const char *wire_message_name(unsigned type);
bool wire_message_known(unsigned type);
/* Returns the sentence of code; "unknown error" for what is none. */
const char *wire_code_text(unsigned code);
const char *wire_code_name(unsigned code);
bool wire_code_retry(unsigned code);
const char *wire_role_name(unsigned role);

/* True when text is 1 to max bytes of printable ASCII without space: ids, services,
 * names. */
bool wire_is_id(const char *text, size_t max);

/* True when text can be the id of a run or thread: it becomes part of Redis keys, call ids
 * and topics. */
bool wire_is_run_id(const char *text);
/* That in words, with RUN_ID_BYTES_MAX for %u. */
#define RUN_ID_RULE                                                                      \
	"an id is 1 to %u printable ASCII characters without spaces and without any of " \
	"{}*?[]\\, and does not end in a colon and a small letter"

#endif
