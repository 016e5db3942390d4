#include "redis_reply.h"

#include <string.h>

#include <hiredis/hiredis.h>

#include "bounds.h"

/* --- what hiredis makes ---------------------------------------------------------------- */

/* A reply's parts are in one arena, which goes with the first of them: hiredis' own are two
 * blocks for each text. */
struct node {
	redisReply reply; /* what hiredis sees */
	struct arena *arena;
};

/* With room for size bytes more, or NULL: the whole reply would be too large. */
static struct node *
node_new(const redisReadTask *task, int type, size_t size)
{
	struct node *around = task->parent != NULL ? task->parent->obj : NULL, *node;
	size_t bytes_max = (size_t)(uintptr_t)task->privdata;
	struct arena *arena;

	if ((around != NULL ? arena_bytes(around->arena) : 0) + size > bytes_max)
		return NULL;
	arena = around != NULL ? around->arena : arena_new();
	node = arena_alloc(arena, sizeof *node);
	node->reply.type = type;
	node->arena = arena;
	if (around != NULL)
		around->reply.element[task->idx] = &node->reply;
	return node;
}

static void *
create_text(const redisReadTask *task, char *text, size_t size)
{
	struct node *node = node_new(task, task->type, size);

	if (node == NULL)
		return NULL;
	node->reply.str = arena_copy(node->arena, text, size);
	node->reply.len = size;
	return node;
}

static void *
create_array(const redisReadTask *task, int elements)
{
	struct node *node = NULL;
	size_t size = (size_t)elements * sizeof *node->reply.element;

	if (elements <= (int)REDIS_REPLY_ELEMENTS_MAX)
		node = node_new(task, REDIS_REPLY_ARRAY, size);
	if (node == NULL)
		return NULL;
	node->reply.elements = (size_t)elements;
	node->reply.element = arena_alloc(node->arena, size);
	return node;
}

static void *
create_integer(const redisReadTask *task, long long integer)
{
	struct node *node = node_new(task, REDIS_REPLY_INTEGER, 0);

	if (node != NULL)
		node->reply.integer = integer;
	return node;
}

static void *
create_nil(const redisReadTask *task)
{
	return node_new(task, REDIS_REPLY_NIL, 0);
}

/* Called for the first part alone. */
static void
free_reply(void *reply)
{
	struct arena *arena = reply != NULL ? ((struct node *)reply)->arena : NULL;

	arena_destroy(&arena);
}

void
redis_reply_bound(struct redisReader *reader, size_t bytes_max)
{
	static redisReplyObjectFunctions functions = { create_text, create_array,
		create_integer, create_nil, free_reply };

	reader->fn = &functions;
	reader->privdata = (void *)(uintptr_t)bytes_max;
}

/* --- values ---------------------------------------------------------------------------- */

static const struct value *
array_of(struct arena *arena, const struct redisReply *reply)
{
	const struct value **items = arena_take(arena, reply->elements * sizeof *items);
	struct value *array = arena_take(arena, sizeof *array);
	size_t i;

	*array = (struct value){
		.type = VALUE_ARRAY, .size = (uint32_t)reply->elements, .items = items
	};
	/* hiredis ends the connection of who nests deeper than 7. */
	for (i = 0; i < reply->elements; i++)
		items[i] = redis_reply_value(arena, reply->element[i]);
	return array;
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
		{ "ERR max number of clients", REDIS_AGAIN },
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
