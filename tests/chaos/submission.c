#include "submission.h"

#include <stdlib.h>
#include <string.h>

#include "fiber.h"
#include "store.h"

#define POLL_MS 50u

enum redis_status
submission_send(
    struct redis *redis, const struct submission *submission, uint64_t wait_ms)
{
	struct arena *arena = arena_new();
	const char *words[] = { "XADD", STORE_INBOX, "*", "agent", submission->agent,
		"run", submission->run, "thread", submission->thread, submission->field,
		submission->value, "stream", submission->stream ? "1" : "0", "multitask",
		submission->multitask };
	struct redis_arg args[sizeof words / sizeof *words];
	size_t count =
	    sizeof words / sizeof *words - (submission->multitask == NULL ? 2 : 0);
	const struct value *reply;
	enum redis_status status;
	size_t i;

	for (i = 0; i < count; i++)
		args[i] = (struct redis_arg){ words[i], strlen(words[i]) };
	status = redis_call(redis, arena, wait_ms, args, count, &reply);
	arena_destroy(&arena);
	return status;
}

unsigned
submission_insist(
    struct redis *redis, const struct submission *submission, uint64_t wait_ms)
{
	unsigned tries = 1;

	while (submission_send(redis, submission, wait_ms) != REDIS_OK) {
		fiber_sleep(SUBMISSION_AGAIN_MS);
		tries++;
	}
	return tries;
}

struct many {
	struct redis *redis;
	const struct submission *submission;
	uint64_t wait_ms;
	unsigned left;
};

static void
one_main(void *arg)
{
	struct many *many = arg;

	submission_insist(many->redis, many->submission, many->wait_ms);
	many->left--;
}

void
submission_insist_all(struct redis *redis, const struct submission *submission,
    uint64_t wait_ms, unsigned fibers)
{
	struct many many = { redis, submission, wait_ms, fibers };
	unsigned i;

	for (i = 0; i < fibers; i++)
		if (fiber_start(redis_loop(redis), "submission", one_main, &many) == NULL)
			abort();
	while (many.left > 0)
		fiber_sleep(POLL_MS);
}
