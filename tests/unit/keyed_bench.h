/* keyed_bench: a broker with an allow list on a bench, and who has which key of it. */
#ifndef KEYED_BENCH_H
#define KEYED_BENCH_H

#include "broker_bench.h"

#define C 1 /* coordinators */
#define C2 2
#define L 3  /* a client */
#define W 11 /* workers */
#define W2 12
#define X 13 /* whoever breaks the rule */

#define KEY_C "cccccccccccccccccccccccccccccccccccccccc"
#define KEY_ACME "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define KEY_L "llllllllllllllllllllllllllllllllllllllll"
#define KEY_W "wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"
#define KEY_W2 "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv"
#define KEY_OTHER "oooooooooooooooooooooooooooooooooooooooo"

#define ENTRY_C "- {key: " KEY_C ", name: c, roles: [coordinator]}\n"
#define ENTRY_ACME                                                                       \
	"- {key: " KEY_ACME ", name: acme, roles: [coordinator], tenant: acme}\n"
#define ENTRY_L "- {key: " KEY_L ", name: l, roles: [client]}\n"
#define ENTRY_W                                                                          \
	"- {key: " KEY_W ", name: w, roles: [worker], services: [\"tool:*\"], "          \
	"sessions_max: 2}\n"
#define ENTRY_W2                                                                         \
	"- {key: " KEY_W2 ", name: w2, roles: [worker], services: [\"tool:*\"]}\n"
#define ENTRY_OTHER                                                                      \
	"- {key: " KEY_OTHER ", name: other, roles: [worker], services: "                \
	"[\"model:*\"], calls: [\"tool:b\"]}\n"
#define ALL "keys:\n" ENTRY_C ENTRY_ACME ENTRY_L ENTRY_W ENTRY_W2 ENTRY_OTHER

extern struct bench bench;

/* A checked fixture: ALL is in force, every peer has its key, C its session. */
void keyed_setup(void);
void keyed_teardown(void);

/* The list of text is in force; the one before is forgotten. */
void keyed_allow(const char *text);

/* A broker that was started just now: its recovery window is open. */
void keyed_restart(void);

/* The peer was told in the last step that it may not, in these words. */
void keyed_expect_denied(uint64_t peer, const char *words);

#endif
