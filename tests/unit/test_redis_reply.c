/* What of Redis' replies is held, and what is too much. */
#include <check.h>
#include <stdio.h>
#include <string.h>

/* Interface under test */
#include "redis_reply.h"

#include <hiredis/hiredis.h>

#include "bounds.h"

TCase *tcase_redis_reply(void);

#define MOST (64u << 10)

static struct arena *arena;
static redisReader *reader;

static void
set_up(void)
{
	arena = arena_new();
	reader = redisReaderCreateWithFunctions(NULL);
	redis_reply_bound(reader, MOST);
}

static void
tear_down(void)
{
	redisReaderFree(reader);
	arena_destroy(&arena);
}

/* Says head, and count times part with size bytes behind it. */
static void
say(const char *head, size_t count, const char *part, size_t size)
{
	char text[MOST];

	memset(text, 'x', sizeof text);
	redisReaderFeed(reader, head, strlen(head));
	for (; count > 0; count--) {
		redisReaderFeed(reader, part, strlen(part));
		if (size == 0)
			continue;
		redisReaderFeed(reader, text, size);
		redisReaderFeed(reader, "\r\n", 2);
	}
}

/* Whether the next reply is there, and is let in. */
static bool
is_taken(void)
{
	void *reply = NULL;
	int status = redisReaderGetReply(reader, &reply);

	if (reply != NULL)
		reader->fn->freeObject(reply);
	ck_assert_int_eq(reader->err, status == REDIS_OK ? 0 : REDIS_ERR_OOM);
	return reply != NULL;
}

static const struct {
	const char *head, *part;
	size_t count, size;
	bool is_taken;
} replies[] = {
	{ "", "$30000\r\n", 1, 30000, true },
	{ "*2\r\n", "$30000\r\n", 2, 30000, true },
	/* None of the parts is too large, all of them are. */
	{ "*3\r\n", "$30000\r\n", 3, 30000, false },
	{ "*3\r\n", "*1\r\n$30000\r\n", 3, 30000, false },
	{ "*100\r\n", ":1\r\n", 100, 0, true },
	/* What a part takes counts, not what it says. */
	{ "*4000\r\n", ":1\r\n", 4000, 0, false },
	{ "*4000\r\n", "$-1\r\n", 4000, 0, false },
	/* Before a part has come. */
	{ "*100000\r\n", "", 0, 0, false },
	{ "*2000000000\r\n", "", 0, 0, false },
};

START_TEST(a_reply_has_a_bound)
{
	say(replies[_i].head, replies[_i].count, replies[_i].part, replies[_i].size);
	ck_assert_msg(is_taken() == replies[_i].is_taken, "%s", replies[_i].head);
}
END_TEST

START_TEST(each_reply_has_its_own)
{
	int i;

	for (i = 0; i < 10; i++) {
		say("*1\r\n", 1, "$40000\r\n", 40000);
		ck_assert(is_taken());
	}
}
END_TEST

TCase *
tcase_redis_reply(void)
{
	TCase *tcase = tcase_create("redis_reply");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(
	    tcase, a_reply_has_a_bound, 0, sizeof replies / sizeof replies[0]);
	tcase_add_test(tcase, each_reply_has_its_own);
	return tcase;
}
