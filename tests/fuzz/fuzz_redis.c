/* What is no Redis at the other end: whatever it says to the greeting and behind it, the client asks,
 * gets an answer or a word that there is none, and can be ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fiber.h"
#include "log.h"
#include "redis.h"
#include "speaker.h"

#define WAIT_MS 3u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop *loop;
static struct redis *redis;
static char path[64], url[80];

static void
ask(void *arg)
{
	struct arena *arena = arena_new();
	const struct value *reply = NULL;
	enum redis_status status =
	    redis_text(redis, arena, WAIT_MS, &reply, "HGETALL", "fl:agents", NULL);

	(void)arg;
	if ((status == REDIS_OK || status == REDIS_ERROR) && reply == NULL)
		abort();
	if (status == REDIS_ERROR && redis_reply_text(reply) == NULL)
		abort();
	if (redis_trouble(redis) == NULL)
		abort();
	arena_destroy(&arena);
	loop_stop(loop);
}

static void
remove_path(void)
{
	unlink(path);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *error;

	if (loop == NULL) {
		log_open("fuzzed", LOG_LEVEL_ERROR);
		snprintf(path, sizeof path, "/tmp/fuzz-redis-%ld", (long)getpid());
		snprintf(url, sizeof url, "unix://%s", path);
		atexit(remove_path);
		loop = loop_new();
		speaker_listen(path);
	}
	speaker_say(data, size);
	redis = redis_new(loop, url, "#!lua name=none\n", &error);
	if (redis == NULL || fiber_start(loop, "ask", ask, NULL) == NULL)
		abort();
	loop_run(loop);
	redis_destroy(&redis);
	return 0;
}
