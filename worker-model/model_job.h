/* model_job: one model call on its fiber: from the CALL's frames to the RESULT's body. */
#ifndef MODEL_JOB_H
#define MODEL_JOB_H

#include "chains.h"
#include "provider_table.h"
#include "kept_threads.h"
#include "worker.h"

/* What all jobs share. */
struct model_world {
	struct loop *loop;
	const struct provider_table *providers;
	struct chains *chains;
	struct kept_threads *threads;
};

/* A worker_answer_fn; world is a struct model_world. */
const struct value *model_job_answer(void *world, struct worker_call *call);

#endif
