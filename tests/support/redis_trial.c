#include "redis_trial.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "children.h"
#include "fiber.h"

struct redis_trial redis_trial;

void
redis_trial_start(const char *port)
{
	const char *const argv[] = { "redis-server", "--port", port, "--bind",
		"127.0.0.1", "--unixsocket", redis_trial.path, "--save", "",
		"--supervised", "systemd", "--dir", redis_trial.folder,
		"--busy-reply-threshold", "20", "--enable-protected-configs", "yes",
		"--loglevel", "warning", "--logfile", "/dev/null", NULL };

	redis_trial.server = child_start(argv, NULL);
}

struct redis *
redis_trial_client(const char *to, const char *library)
{
	const char *error = NULL;
	struct redis *one = redis_new(redis_trial.loop, to, library, &error);

	ck_assert_msg(one != NULL, "%s: %s", to, error);
	return one;
}

void
redis_trial_open(void)
{
	redis_trial.folder = folder_new();
	redis_trial.arena = arena_new();
	redis_trial.path =
	    arena_printf(redis_trial.arena, "%s/redis", redis_trial.folder);
	redis_trial.url = arena_printf(redis_trial.arena, "unix://%s", redis_trial.path);
	redis_trial_start("0");
	redis_trial.loop = loop_new();
	redis_trial.redis = redis_trial_client(redis_trial.url, NULL);
}

void
redis_trial_close(void)
{
	redis_destroy(&redis_trial.redis);
	ck_assert_uint_eq(fiber_count(redis_trial.loop), 0);
	loop_destroy(&redis_trial.loop);
	child_kill(&redis_trial.server);
	folder_remove(&redis_trial.folder);
	arena_destroy(&redis_trial.arena);
}

static void
call(void *arg)
{
	struct redis_question *question = arg;
	struct redis_arg args[8];
	size_t count;

	for (count = 0; count < 8 && question->words[count] != NULL; count++)
		args[count] = (struct redis_arg){ question->words[count],
			strlen(question->words[count]) };
	question->status =
	    redis_call(question->redis != NULL ? question->redis : redis_trial.redis,
		redis_trial.arena,
		question->wait_ms != 0 ? question->wait_ms : REDIS_TRIAL_MS, args, count,
		&question->reply);
	question->has_ended = true;
}

struct fiber *
redis_trial_begin(struct redis_question *question)
{
	return fiber_start(redis_trial.loop, "question", call, question);
}

static bool
all_ended(void *arg)
{
	(void)arg;
	return fiber_count(redis_trial.loop) == 0;
}

void
redis_trial_run(void)
{
	loop_run_until(redis_trial.loop, all_ended, NULL);
}

static bool
is_true(void *arg)
{
	return *(const bool *)arg;
}

void
redis_trial_finish(struct redis_question *question)
{
	redis_trial_begin(question);
	loop_run_until(redis_trial.loop, is_true, &question->has_ended);
}

const struct value *
redis_trial_ask(struct redis_question question)
{
	redis_trial_begin(&question);
	redis_trial_run();
	ck_assert_msg(question.status == REDIS_OK, "%s: %d %s", question.words[0],
	    question.status, redis_reply_text(question.reply));
	return question.reply;
}

void
redis_trial_check(const struct value *reply, const char *expected)
{
	ck_assert(value_is(reply, VALUE_BIN));
	ck_assert_str_eq(redis_reply_text(reply), expected);
}

bool
redis_trial_is_down(void *arg)
{
	return !redis_is_up(arg);
}

static bool
has_trouble(void *arg)
{
	const char *words = arg;

	return strstr(redis_trouble(redis_trial.redis), words) != NULL;
}

static void
look_again(void *arg)
{
	(void)arg;
}

static void
yield_often(void *arg)
{
	bool *has_ended = arg;
	int i;

	for (i = 0; i < 10; i++)
		fiber_yield();
	*has_ended = true;
}

void
redis_trial_run_a_little(void)
{
	bool has_ended = false;

	fiber_start(redis_trial.loop, "yield", yield_often, &has_ended);
	loop_run_until(redis_trial.loop, is_true, &has_ended);
}

void
redis_trial_run_until(bool (*is_so)(void *arg), void *arg)
{
	struct timer *timer = timer_start(redis_trial.loop, 1, 1, look_again, NULL);

	loop_run_until(redis_trial.loop, is_so, arg);
	timer_stop(&timer);
}

void
redis_trial_run_until_trouble(const char *words)
{
	redis_trial_run_until(has_trouble, (void *)words);
	ck_assert(!redis_is_up(redis_trial.redis));
}

long
redis_trial_info(const char *section, const char *name)
{
	const char *info = redis_reply_text(ASK("INFO", section));
	const char *line = strstr(info, name);

	ck_assert_ptr_nonnull(line);
	return strtol(line + strlen(name), NULL, 10);
}

const struct value *
redis_trial_ask_meanwhile(const char *first, const char *second)
{
	struct redis_question question = { .words = { first, second } };

	redis_trial_finish(&question);
	return question.status == REDIS_OK ? question.reply : NULL;
}

struct fiber *
redis_trial_begin_blocking(struct redis_question *question, struct redis **own_r)
{
	struct fiber *fiber;

	*own_r = redis_trial_client(redis_trial.url, NULL);
	question->redis = *own_r;
	fiber = redis_trial_begin(question);
	while (strstr(redis_reply_text(redis_trial_ask_meanwhile("INFO", "clients")),
		   "blocked_clients:1") == NULL)
		ck_assert(!question->has_ended);
	return fiber;
}

void
redis_trial_begin_refused(
    struct redis_question *question, struct redis **own_r, const char *code)
{
	const char *line = arena_printf(redis_trial.arena, "errorstat_%s:", code);

	*own_r = redis_trial_client(redis_trial.url, NULL);
	question->redis = *own_r;
	redis_trial_begin(question);
	while (strstr(redis_reply_text(redis_trial_ask_meanwhile("INFO", "errorstats")),
		   line) == NULL)
		ck_assert(!question->has_ended);
}
