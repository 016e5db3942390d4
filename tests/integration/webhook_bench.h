/* webhook_bench: a fleet whose runs have webhooks, and the server that they are told to. */
#ifndef WEBHOOK_BENCH_H
#define WEBHOOK_BENCH_H

#include "fleet_client.h"
#include "fleet_kit.h"
#include "tiny_http.h"

#define A_DAY "86400000"
#define SECRET "not so secret"
#define NOT_NOW "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
#define TAKEN "HTTP/1.1 204 Taken\r\n\r\n"

struct scene {
	struct arena *arena;
	struct fleet_kit *kit;
	struct fleet_client *client;
	struct tiny_http *server;
	void (*play)(struct scene *scene);
};

/* Plays with a fleet of its own, one of each kind, whose tool worker has --webhooks so; unserved_ms: of the coordinator's
 * --webhook-unserved-ms, or NULL. */
void webhook_act(
    void (*play)(struct scene *scene), const char *webhooks, const char *unserved_ms);

/* What the server answers next. */
void webhook_answer_with(struct scene *scene, const char *bytes);

/* Submits a run that is called like its thread. */
void webhook_submit_to(
    struct scene *scene, const char *agent, const char *run, const char *after_ms);
void webhook_submit(struct scene *scene, const char *run, const char *after_ms);

const struct value *webhook_record(struct scene *scene, const char *run);
/* Waits until that field of run's record has text in it; returns the record. */
const struct value *webhook_wait_text(
    struct scene *scene, const char *run, const char *field, const char *text);

/* The request of that index, which must be there; its body. */
const char *webhook_request(struct scene *scene, unsigned index);
const struct value *webhook_body_of(struct scene *scene, const char *text);

#endif
