#include "redis_reply.h"

#include <string.h>

#include <hiredis/hiredis.h>

#include "bounds.h"

static void *(*create_array)(const redisReadTask *, int);

static void *
create_bounded_array(const redisReadTask *task, int elements)
{
	if (elements > (int)REDIS_REPLY_ELEMENTS_MAX)
		return NULL;
	return create_array(task, elements);
}

void
redis_reply_bound(struct redisReader *reader)
{
	static redisReplyObjectFunctions functions;

	if (create_array == NULL) {
		functions = *reader->fn;
		create_array = functions.createArray;
		functions.createArray = create_bounded_array;
	}
	reader->fn = &functions;
}

static const struct value *
array_of(struct arena *arena, const struct redisReply *reply)
{
	struct value_list list = { .arena = arena };
	size_t i;

	/* hiredis ends the connection of who nests deeper than 7. */
	for (i = 0; i < reply->elements; i++)
		value_list_add(&list, redis_reply_value(arena, reply->element[i]));
	return value_list_end(&list);
}

const struct value *
redis_reply_value(struct arena *arena, const struct redisReply *reply)
{
	switch (reply->type) {
	case REDIS_REPLY_INTEGER:
		return value_int(arena, reply->integer);
	case REDIS_REPLY_ERROR:
		return value_strn(arena, reply->str, (size_t)reply->len);
	case REDIS_REPLY_ARRAY:
		return array_of(arena, reply);
	case REDIS_REPLY_NIL:
		return value_nil();
	default:
		return value_bin(arena, reply->str, (size_t)reply->len);
	}
}

bool
redis_reply_is_error(const struct redisReply *reply)
{
	return reply->type == REDIS_REPLY_ERROR;
}

const char *
redis_reply_text(const struct value *reply)
{
	return value_is(reply, VALUE_BIN) ? reply->text : value_text(reply);
}

/* True when error begins with the words. */
static bool
begins(const char *error, const char *words)
{
	size_t size = strlen(words);

	return strncmp(error, words, size) == 0 &&
	       (error[size] == ' ' || error[size] == '\0');
}

enum redis_verdict
redis_reply_verdict(const char *error)
{
	static const struct {
		const char *words;
		enum redis_verdict verdict;
	} verdicts[] = {
		{ "LOADING", REDIS_AGAIN },
		{ "BUSY", REDIS_AGAIN },
		{ "TRYAGAIN", REDIS_AGAIN },
		{ "CLUSTERDOWN", REDIS_AGAIN },
		{ "MISCONF", REDIS_REFUSED },    /* a full or broken disk */
		{ "OOM", REDIS_REFUSED },        /* maxmemory is reached */
		{ "NOREPLICAS", REDIS_REFUSED }, /* fewer than min-replicas-to-write */
		{ "NOPERM", REDIS_REFUSED },     /* an ACL forbids it */
		{ "NOAUTH", REDIS_ELSEWHERE },
		{ "WRONGPASS", REDIS_ELSEWHERE },
		{ "MASTERDOWN", REDIS_ELSEWHERE },
		{ "READONLY", REDIS_ELSEWHERE },
		{ "UNBLOCKED", REDIS_ELSEWHERE },
		{ "ERR Function not found", REDIS_LIBRARY },
	};
	size_t i;

	for (i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++)
		if (begins(error, verdicts[i].words))
			return verdicts[i].verdict;
	return REDIS_FINAL;
}
