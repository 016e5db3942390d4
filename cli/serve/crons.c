/* crons: runs that recur, by HTTP. */
#include "crons.h"

#include <stdlib.h>
#include <string.h>

#include "assistant_find.h"
#include "bounds.h"
#include "cron_body.h"
#include "room.h"
#include "select.h"
#include "tenant.h"
#include "thread_find.h"

#define LIMIT 10
#define LIMIT_MAX 1000

/* --- one ---------------------------------------------------------------------------------- */

/* When it is due next. Returns false after answering why it never is. */
static bool
find_next(struct call *call, struct cron *cron)
{
	enum store_status status;
	const char *error;
	int64_t now;

	status = crons_now(api_store(call->api), call->arena, &now);
	if (status != STORE_OK) {
		reply_failed(call, status, "cron");
		return false;
	}
	if (cron_next(call->arena, cron, now, &cron->next_ms, &error) == -1) {
		reply_error(call, 422, "%s", error);
		return false;
	}
	return true;
}

/* One that goes on in somebody else's thread is not the tenant's, whatever it is called. */
static bool
is_owned(const struct call *call, const struct cron *cron)
{
	return tenant_owns(call, cron->id) &&
	       (cron->thread == NULL || tenant_owns(call, cron->thread));
}

/* A cron as it is now. Returns false after answering that there is none. */
static bool
read_one(struct call *call, const char *id, struct cron *cron)
{
	enum store_status status = STORE_NONE;

	if (cron_is_id(id))
		status = crons_read(api_store(call->api), call->arena, id, cron);
	if (status == STORE_OK && !is_owned(call, cron))
		status = STORE_NONE;
	if (status == STORE_NONE)
		reply_error(call, 404, "Cron not found");
	else if (status != STORE_OK)
		reply_failed(call, status, "cron");
	return status == STORE_OK;
}

static void
reply_one(struct call *call, const char *id)
{
	struct cron cron;

	if (read_one(call, id, &cron))
		reply(call, 200, cron_body_shape(call->arena, &cron));
}

/* Reads the body into cron, and when that is due next: of a body that names an assistant it must be there. Returns false after
 * answering. */
static bool
read_body(struct call *call, const char *tenant, struct cron *cron)
{
	const char *id = value_get_text(call->body, "assistant_id"), *wrong;
	struct assistant found = { 0 };
	enum store_status status = STORE_NONE;

	if (id != NULL && *id != '\0') {
		status = assistant_find(call, call->arena, id, &found);
		cron->agent = found.agent;
		cron->assistant =
		    status == STORE_OK && assistant_is_made(&found) ? found.id : NULL;
	}
	wrong = cron_body_read(call->arena, call->body, tenant, cron);
	if (wrong != NULL)
		reply_error(call, 422, "%s", wrong);
	return wrong == NULL && find_next(call, cron) &&
	       (id == NULL || assistant_can_run(call, id, status, &found));
}

void
call_cron_create(struct call *call)
{
	struct cron cron = { .id = tenant_new_id(call), .thread = call->params[0] };
	enum store_status status;

	if (cron.thread != NULL && !thread_is_there(call, cron.thread))
		return;
	if (!read_body(call, call->tenant, &cron))
		return;
	if (cron.next_ms == CRON_NEVER && !cron.is_paused) {
		reply_error(
		    call, 422, "end_time: it would be over before it is due first");
		return;
	}
	status = crons_create(api_store(call->api), call->arena, &cron);
	if (status == STORE_REJECTED)
		reply_error(call, 409, "%s", store_error(api_store(call->api)));
	else if (status != STORE_OK)
		reply_failed(call, status, "cron");
	else
		reply_one(call, cron.id);
}

static bool
are_equal(const char *left, const char *right)
{
	return left == NULL || right == NULL ? left == right : strcmp(left, right) == 0;
}

/* Whether it is due at other times than it was: one that is due already is not passed over by a change of something else. */
static bool
moves(const struct cron *was, const struct cron *is)
{
	return !are_equal(was->schedule, is->schedule) ||
	       !are_equal(was->timezone, is->timezone) || was->end_ms != is->end_ms ||
	       was->is_paused != is->is_paused;
}

/* Returns STORE_STALE: once more; or after answering, if that was not STORE_OK. */
static enum store_status
change(struct call *call)
{
	enum store_status status;
	struct cron was, cron;

	if (!read_one(call, call->params[0], &was))
		return STORE_NONE;
	cron = was;
	if (!read_body(call, NULL, &cron))
		return STORE_NONE;
	status =
	    crons_change(api_store(call->api), call->arena, &cron, moves(&was, &cron));
	if (status != STORE_OK && status != STORE_STALE)
		reply_failed(call, status, "cron");
	return status;
}

void
call_cron_change(struct call *call)
{
	enum store_status status = STORE_STALE;
	unsigned tries = 0;

	while (status == STORE_STALE && store_try_again(&tries))
		status = change(call);
	if (status == STORE_OK)
		reply_one(call, call->params[0]);
	else if (status == STORE_STALE)
		reply_error(call, 409, "the cron is being changed by others");
}

void
call_cron_delete(struct call *call)
{
	enum store_status status = STORE_NONE;
	struct cron cron;

	/* One that cannot be read is nobody's. */
	if (call->tenant != NULL && !read_one(call, call->params[0], &cron))
		return;
	if (cron_is_id(call->params[0]))
		status = crons_delete(api_store(call->api), call->arena, call->params[0]);
	if (status == STORE_OK)
		reply_nothing(call);
	else if (status == STORE_NONE)
		reply_error(call, 404, "Cron not found");
	else
		reply_failed(call, status, "cron");
}

/* --- many --------------------------------------------------------------------------------- */

static bool
is_text(const struct value *wanted, const char *text)
{
	return value_is_nil(wanted) || (text != NULL && value_text_is(wanted, text));
}

static bool
is_thread(const struct call *call, const char *thread)
{
	const struct value *wanted = value_get(call->body, "thread_id");

	return is_text(wanted, thread) ||
	       (thread != NULL && is_text(wanted, tenant_short(call, thread)));
}

static bool
is_assistant(const struct call *call, const struct cron *cron)
{
	const struct value *wanted = value_get(call->body, "assistant_id");
	const char *id = cron->assistant != NULL ? cron->assistant : cron->agent;

	return is_text(wanted, id) || is_text(wanted, tenant_short(call, id));
}

static bool
is_wanted(const struct cron *cron, const void *arg)
{
	const struct call *call = arg;
	const struct value *body = call->body, *enabled = value_get(body, "enabled");

	return is_owned(call, cron) && is_assistant(call, cron) &&
	       is_thread(call, cron->thread) &&
	       (value_is_nil(enabled) || enabled->boolean != cron->is_paused) &&
	       select_matches(cron->metadata, value_get(body, "metadata"));
}

/* Those that the body asks for, without metadata. Returns false after answering. */
static bool
find(struct call *call, struct cron_list *list)
{
	static const struct select_filter filters[] = { { "assistant_id", VALUE_STR },
		{ "thread_id", VALUE_STR }, { "enabled", VALUE_BOOL },
		{ "metadata", VALUE_MAP } };
	const struct cron_wish wish = { is_wanted, call, true };
	enum store_status status;

	if (!select_check(call, filters, sizeof filters / sizeof *filters))
		return false;
	status = crons_find(api_store(call->api), call->arena, &wish, list);
	if (status != STORE_OK)
		reply_failed(call, status, "crons");
	return status == STORE_OK;
}

static void
count_crons(struct call *call)
{
	struct cron_list list;

	if (find(call, &list))
		reply(call, 200, value_int(call->arena, (int64_t)list.count));
}

void
call_crons_count(struct call *call)
{
	room_in_list(call, "crons", count_crons);
}

/* --- order -------------------------------------------------------------------------------- */

static int
by_numbers(int64_t left, int64_t right)
{
	return (left > right) - (left < right);
}

static int
by_texts(const char *left, const char *right)
{
	return strcmp(left != NULL ? left : "", right != NULL ? right : "");
}

static int
by_id(const void *a, const void *b)
{
	return by_texts(((const struct cron *)a)->id, ((const struct cron *)b)->id);
}

static const char *
id_of(const struct cron *cron)
{
	return cron->assistant != NULL ? cron->assistant : cron->agent;
}

static int
by_assistant(const void *a, const void *b)
{
	return by_texts(id_of(a), id_of(b));
}

static int
by_thread(const void *a, const void *b)
{
	return by_texts(
	    ((const struct cron *)a)->thread, ((const struct cron *)b)->thread);
}

static int
by_created(const void *a, const void *b)
{
	return by_numbers(
	    ((const struct cron *)a)->created_ms, ((const struct cron *)b)->created_ms);
}

static int
by_updated(const void *a, const void *b)
{
	return by_numbers(
	    ((const struct cron *)a)->updated_ms, ((const struct cron *)b)->updated_ms);
}

static int
by_next(const void *a, const void *b)
{
	return by_numbers(
	    ((const struct cron *)a)->next_ms, ((const struct cron *)b)->next_ms);
}

/* One without an end ends last. */
static int64_t
end_of(const struct cron *cron)
{
	return cron->end_ms > 0 ? cron->end_ms : INT64_MAX;
}

static int
by_end(const void *a, const void *b)
{
	return by_numbers(end_of(a), end_of(b));
}

static const struct order {
	const char *name;
	int (*compare)(const void *a, const void *b);
} orders[] = {
	{ "created_at", by_created }, /* unless another is asked for */
	{ "updated_at", by_updated },
	{ "next_run_date", by_next },
	{ "cron_id", by_id },
	{ "assistant_id", by_assistant },
	{ "thread_id", by_thread },
	{ "end_time", by_end },
};

/* Returns false after answering that there is no such order. */
static bool
sort(struct call *call, struct cron_list *list)
{
	const struct value *wanted = value_get(call->body, "sort_by");
	const struct value *way = value_get(call->body, "sort_order");
	size_t i, chosen = 0;

	for (i = 0; i < sizeof orders / sizeof *orders; i++)
		if (value_text_is(wanted, orders[i].name))
			break;
	if (i < sizeof orders / sizeof *orders)
		chosen = i;
	else if (!value_is_nil(wanted)) {
		reply_error(call, 422,
		    "sort_by: must be created_at, updated_at, next_run_date, cron_id, "
		    "assistant_id, thread_id or end_time");
		return false;
	}
	if (list->count > 0)
		qsort(list->items, list->count, sizeof *list->items,
		    orders[chosen].compare);
	if (!value_is_nil(way) && !value_text_is(way, "asc") &&
	    !value_text_is(way, "desc")) {
		reply_error(call, 422, "sort_order: must be asc or desc");
		return false;
	}
	if (value_text_is(way, "asc"))
		return true;
	for (i = 0; i < list->count / 2; i++) {
		struct cron other = list->items[i];

		list->items[i] = list->items[list->count - 1 - i];
		list->items[list->count - 1 - i] = other;
	}
	return true;
}

static void
search_crons(struct call *call)
{
	int64_t limit = call_number(call, "limit", LIMIT, 1, LIMIT_MAX), offset = 0;
	struct reply_list items = { 0 };
	const struct value *wanted;
	struct cron_list list;
	size_t i;

	if (limit != -1)
		offset = call_number(call, "offset", 0, 0, INT32_MAX);
	if (limit == -1 || offset == -1 || !select_read(call, SELECT_CRON, &wanted) ||
	    !find(call, &list) || !sort(call, &list))
		return;
	for (i = (size_t)offset; i < list.count && i < (size_t)(offset + limit); i++) {
		struct arena *arena = arena_new();
		enum store_status status;
		struct cron whole;
		bool has_room = true;

		status =
		    crons_read(api_store(call->api), arena, list.items[i].id, &whole);
		/* Its payload cannot be read: it is shown without. */
		if (status == STORE_DAMAGED)
			whole = list.items[i];
		if (status == STORE_OK || status == STORE_DAMAGED)
			has_room = reply_list_add(&items,
			    select_fields(arena, cron_body_shape(arena, &whole), wanted),
			    SERVE_LIST_BYTES_MAX);
		arena_destroy(&arena);
		if (!has_room)
			break;
	}
	select_pages(call, list.count, i < list.count ? i : 0);
	reply_list_end(&items, call);
}

void
call_crons_search(struct call *call)
{
	room_in_list(call, "crons", search_crons);
}
