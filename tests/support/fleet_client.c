#include "fleet_client.h"

#include <stdio.h>
#include <stdlib.h>

#include "fiber.h"
#include "patience.h"
#include "socket.h"

#define REDIS_WAIT_MS (UINT64_C(30000) * PATIENCE)
#define POLL_MS 20u /* a storm asks Redis of fifty runs each time */
#define BLOCK_MS 500u
#define SUBMIT_TRIES 3u
#define FIELDS_MAX 16u

struct play {
	struct fleet_client client;
	const char *url;
	void (*play)(struct fleet_client *client, void *arg);
	void *arg;
};

static struct redis *
connect_redis(struct loop *loop, const char *url, const char *library)
{
	const char *error;
	struct redis *redis = redis_new(loop, url, library, &error);

	if (redis == NULL) {
		fprintf(stderr, "%s: %s\n", url, error);
		abort();
	}
	while (!redis_is_up(redis))
		fiber_sleep(POLL_MS);
	return redis;
}

static void
play_main(void *arg)
{
	struct play *play = arg;
	struct fleet_client *client = &play->client;

	client->redis = connect_redis(client->loop, play->url, store_library());
	client->waiting_redis = connect_redis(client->loop, play->url, NULL);
	client->store = store_new(client->redis, REDIS_WAIT_MS);
	client->waiting = store_new(client->waiting_redis, REDIS_WAIT_MS);
	play->play(client, play->arg);
	store_destroy(&client->store);
	store_destroy(&client->waiting);
	redis_destroy(&client->redis);
	redis_destroy(&client->waiting_redis);
	loop_stop(client->loop);
}

void
client_run(
    const char *url, void (*play)(struct fleet_client *client, void *arg), void *arg)
{
	struct play state = { .url = url, .play = play, .arg = arg };

	state.client.loop = loop_new();
	if (fiber_start(state.client.loop, "client", play_main, &state) == NULL)
		abort();
	loop_run(state.client.loop);
	loop_destroy(&state.client.loop);
	socket_shutdown();
}

void
client_submit(
    struct fleet_client *client, struct arena *arena, const struct value *fields)
{
	struct redis_arg args[3 + 2 * FIELDS_MAX] = { { "XADD", 4 },
		{ STORE_INBOX, sizeof STORE_INBOX - 1 }, { "*", 1 } };
	const struct value *reply;
	enum redis_status status;
	size_t n = 3, i;
	unsigned tries = 0;

	for (i = 0; i < value_size(fields) && i < FIELDS_MAX; i++) {
		const struct value_pair *pair = &fields->pairs[i];

		args[n++] = (struct redis_arg){ pair->key->text, pair->key->size };
		args[n++] = (struct redis_arg){ pair->value->text, pair->value->size };
	}
	do {
		status = redis_call(client->redis, arena, REDIS_WAIT_MS, args, n, &reply);
	} while (
	    (status == REDIS_LOST || status == REDIS_AWAY) && ++tries < SUBMIT_TRIES);
	if (status != REDIS_OK) {
		fprintf(stderr, "not submitted\n");
		abort();
	}
}

static bool
read_end(struct fleet_client *client, const char *thread, const char *run, uint64_t *seen)
{
	struct arena *arena = arena_new();
	const struct value *events = value_empty_array();
	bool ended = false;
	size_t i;

	if (store_events(client->waiting, arena, thread, run, *seen, BLOCK_MS, &events) !=
	    STORE_OK)
		fiber_sleep(POLL_MS);
	for (i = 0; i < value_size(events); i++) {
		const struct value *event = value_at(events, i);

		*seen = (uint64_t)value_get_int(event, "seq", 0);
		ended = ended || value_text_is(value_get(event, "kind"), "finished");
	}
	arena_destroy(&arena);
	return ended;
}

bool
client_wait_end(
    struct fleet_client *client, const char *thread, const char *run, uint64_t wait_ms)
{
	uint64_t deadline = loop_now_ms(client->loop) + PATIENCE * wait_ms, seen = 0;
	bool ended = false;

	while (!ended && loop_now_ms(client->loop) < deadline)
		ended = read_end(client, thread, run, &seen);
	return ended;
}

bool
client_wait(
    struct fleet_client *client, bool (*holds)(void *arg), void *arg, uint64_t wait_ms)
{
	uint64_t deadline = loop_now_ms(client->loop) + PATIENCE * wait_ms;

	while (!holds(arg)) {
		if (loop_now_ms(client->loop) >= deadline)
			return false;
		fiber_sleep(POLL_MS);
	}
	return true;
}
