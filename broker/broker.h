/* broker: the program around the core: one ROUTER for everybody, one PUB for the status
 * channel, the clock. Forwards body frames by reference, never opens one. */
#ifndef BROKER_H
#define BROKER_H

#include "service.h"
#include "settings.h"

struct broker;

struct broker_settings {
	struct service_settings common;
	const char *bind, *status_bind;
	/* In no table: inproc://, for a coordinator in the same process (hub/), which has this process's key; NULL:
	 * there is none. */
	const char *inside;
	const char *allow; /* a file, or NULL: no keys */
	int64_t queue_calls_max;
	int64_t bodies_bytes_max;
	int64_t probe_ms, probe_wait_ms, probe_drop_ms;
	int64_t drain_ms;
};

extern const struct setting broker_table[];

/* Binds; ends the process with a clear message when it cannot. Keeps service. */
struct broker *broker_new(
    struct service *service, const struct broker_settings *settings);

/* Takes *broker_p; what was sent last still goes out. NULL is fine. */
void broker_destroy(struct broker **broker_p);

/* For service_run, arg is the broker: warns all, gives back what no worker has, and ends when
 * what runs has ended, or drain-ms are over. The rest lives on in workers and coordinators;
 * other brokers, or the next one here, learn it from them. */
void broker_drain(void *arg);

#endif
