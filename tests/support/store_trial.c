#include "store_trial.h"

#include <check.h>
#include <string.h>

#include "fiber.h"

struct store_trial trial;

static struct store *
store_of(const char *session, const char *name)
{
	struct store *store = store_new(trial.redis, REDIS_TRIAL_MS);

	store_act_as(store, session, name);
	return store;
}

void
trial_open(void)
{
	redis_trial_open();
	trial.arena = redis_trial.arena;
	trial.redis = redis_trial_client(redis_trial.url, store_library());
	redis_allow_silence(trial.redis, REDIS_TRIAL_MS);
	trial.a = store_of(TRIAL_A, "coordinator-a");
	trial.b = store_of(TRIAL_B, "coordinator-b");
}

void
trial_close(void)
{
	store_destroy(&trial.a);
	store_destroy(&trial.b);
	redis_destroy(&trial.redis);
	redis_trial_close();
}

static void
play_main(void *arg)
{
	void (**play)(void) = arg;

	(*play)();
}

void
trial_play(void (*play)(void))
{
	ck_assert_ptr_nonnull(fiber_start(redis_trial.loop, "play", play_main, &play));
	redis_trial_run();
}

void
trial_submit(const char *thread, const char *run)
{
	struct arena *arena = trial.arena;
	const char *other;
	int64_t before;

	ck_assert_int_eq(store_bind_run(trial.a, arena, run, thread, &other), STORE_OK);
	ck_assert_int_eq(store_submit(trial.a, arena, thread, run,
			     value_map(arena, "agent", value_str(arena, "clerk"),
				 "version", value_str(arena, "1"), "input",
				 value_freeze(arena, value_str(arena, "Hi")), NULL),
			     &before),
	    STORE_OK);
}

void
trial_claim(struct store *store, const char *thread, uint64_t lease_ms,
    struct store_claim *claim_r)
{
	ck_assert_int_eq(
	    store_claim(store, trial.arena, thread, lease_ms, claim_r), STORE_OK);
}

static enum store_status
commit(struct store *store, const struct store_claim *claim, const char *id,
    const char *status, const struct value *run_fields)
{
	struct arena *arena = trial.arena;
	struct store_commit commit = {
		.thread = "t",
		.run = claim->run,
		.epoch = claim->epoch,
		.version = claim->version,
		.id = id,
		.status = status,
		.head = value_map(arena, "run", value_str(arena, claim->run), NULL),
		.order = value_empty_array(),
		.checkpoint = value_map(arena, "version",
		    value_int(arena, (int64_t)claim->version + 1), "order",
		    value_empty_array(), NULL),
		.messages = value_empty_array(),
		.fields = value_empty_map(),
		.events = value_empty_array(),
		.run_fields = run_fields,
	};

	return store_commit(store, arena, &commit, &trial.committed);
}

enum store_status
trial_commit(struct store *store, const struct store_claim *claim, const char *id,
    const char *status)
{
	return commit(store, claim, id, status, value_empty_map());
}

enum store_status
trial_commit_dead(
    struct store *store, const struct store_claim *claim, const char *reason)
{
	return commit(store, claim, "dead", "error",
	    value_map(trial.arena, "dead", value_str(trial.arena, reason), NULL));
}

enum store_status
trial_results(struct store *store, const struct store_claim *claim)
{
	struct arena *arena = trial.arena;

	return store_results(store, arena,
	    &(struct store_hold){ "t", claim->run, claim->epoch, claim->version },
	    value_map(arena, "call", value_str(arena, "done"), NULL));
}

const struct value *
trial_ask_words(const char *const *words, size_t count)
{
	struct redis_arg args[16];
	const struct value *reply = NULL;
	size_t i;

	ck_assert_uint_le(count, 16);
	for (i = 0; i < count; i++)
		args[i] = (struct redis_arg){ words[i], strlen(words[i]) };
	ck_assert_msg(redis_call(trial.redis, trial.arena, REDIS_TRIAL_MS, args, count,
			  &reply) == REDIS_OK,
	    "%s: %s", words[0], redis_reply_text(reply));
	return reply;
}

static const char *
key_of(const char *key)
{
	return arena_printf(
	    trial.arena, "%s%s", store_prefix(trial.arena, store_shard("t")), key);
}

void
trial_hset(const char *key, const char *field, const char *text)
{
	trial_ask("HSET", key_of(key), field, text);
}

void
trial_zadd(const char *key, const char *score, const char *member)
{
	trial_ask("ZADD",
	    arena_printf(trial.arena, "%s%s", store_prefix(trial.arena, 0), key), score,
	    member);
}

void
trial_delete(const char *key)
{
	trial_ask("DEL", key_of(key));
}

void
trial_check_keys(const char *const *keys, size_t count)
{
	const struct value *found = trial_ask("KEYS", "*");
	size_t counts = 0, i, j;

	for (i = 0; i < value_size(found); i++) {
		const char *key = redis_reply_text(value_at(found, i));

		if (strstr(key, "}:ended") != NULL) {
			counts++;
			continue;
		}
		for (j = 0; j < count; j++)
			if (strcmp(key, keys[j]) == 0 ||
			    strcmp(key, key_of(keys[j])) == 0)
				break;
		ck_assert_msg(j < count, "%s is left", key);
	}
	ck_assert_uint_eq(value_size(found), count + counts);
}
