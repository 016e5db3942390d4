/* worker_model: answers model calls: the agent's wrap_model_call chain, then a provider.
 *
 * Serves model:<provider> for each provider it is set up for. Keys come from the
 * environment alone and leave it only in requests to their provider. */
#ifndef WORKER_MODEL_H
#define WORKER_MODEL_H

#include "service.h"

struct worker_model_settings {
	struct service_settings common; /* first */
	const char **brokers;
	int64_t slots;
	const char **plugins;
	const char **providers;
	const char *models;
	int64_t connect_timeout_ms;
	int64_t first_byte_timeout_ms;
	int64_t idle_timeout_ms;
	int64_t answer_timeout_ms;
	int64_t threads_bytes;
	int64_t drain_ms;
	const char *trace_endpoint;
};
extern const struct setting worker_model_table[];

struct worker_model;

/* Returns new; keeps service and settings. A setting that makes no sense ends the
 * process.
 */
struct worker_model *worker_model_new(
    struct service *service, const struct worker_model_settings *settings);
void worker_model_destroy(struct worker_model **model_p);

/* For service_run, arg is the model worker: no new calls, the running ones get drain_ms, then service_end. */
void worker_model_drain(void *arg);

#endif
