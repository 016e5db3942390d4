/* thread_search: which threads there are. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "blueprint.h"
#include "extract.h"
#include "room.h"
#include "select.h"
#include "shape.h"
#include "store_fleet.h"
#include "store_past.h"
#include "tenant.h"

#define LIMIT 10
#define LIMIT_MAX 1000
#define SEARCHED_MAX 10000 /* threads that a search looks at, the newest */

/* A thread that is found, and what says where it stands among the others. */
struct found {
	const char *name, *text; /* "": by its time */
	int64_t time;
	size_t number; /* the newest has 0 */
};

/* A search under way. */
struct search {
	struct call *call;
	const struct value *fields; /* that are shown of each */
	const struct value *paths;  /* whose values are shown of each, or nil */
	struct select_order order;
	bool is_sorted;         /* else they come from the newest on */
	struct found *all;      /* sorted: what is found */
	struct reply_list list; /* what is found between first and last */
	size_t count, first, last;
};

/* --- what is asked for -------------------------------------------------------------------- */

static bool
check_status(struct call *call)
{
	static const char *const words[] = { "idle", "busy", "interrupted", "error" };
	const struct value *status = value_get(call->body, "status");
	bool is_good = value_is_nil(status);
	size_t i;

	for (i = 0; i < sizeof words / sizeof *words; i++)
		is_good |= value_text_is(status, words[i]);
	if (!is_good)
		reply_error(
		    call, 422, "status: must be idle, busy, interrupted or error");
	return is_good;
}

/* Returns false after answering what of the body cannot be asked for. */
static bool
can_search(struct call *call)
{
	static const struct select_filter filters[] = { { "metadata", VALUE_MAP },
		{ "values", VALUE_MAP }, { "status", VALUE_STR },
		{ "ids", VALUE_ARRAY } };

	if (!select_check(call, filters, sizeof filters / sizeof *filters) ||
	    !check_status(call))
		return false;
	if (value_size(value_get(call->body, "ids")) > SERVE_IDS_MAX)
		reply_error(call, 422, "ids: are too many");
	return value_size(value_get(call->body, "ids")) <= SERVE_IDS_MAX;
}

/* By what a thread is, whatever its size. */
static bool
may_be_wanted(const struct call *call, const struct value *thread)
{
	const struct value *body = call->body;
	const struct value *status = value_get(body, "status");
	const struct value *ids = value_get(body, "ids");
	const char *name = value_get_text(thread, "thread_id");

	return (value_size(ids) == 0 || value_contains(ids, name) ||
		   value_contains(ids, tenant_short(call, name))) &&
	       (value_is_nil(status) ||
		   value_equal(value_get(thread, "status"), status)) &&
	       select_matches(value_get(thread, "metadata"), value_get(body, "metadata"));
}

/* --- one ---------------------------------------------------------------------------------- */

/* A thread as it is shown. */
static const struct value *
shape(const struct search *search, struct arena *arena, const struct value *thread,
    const struct value *last, const struct value *values)
{
	const struct value *whole = shape_thread(arena, thread, last, values);
	const struct value *shown = select_fields(arena, whole, search->fields);

	return value_is_nil(search->paths) ? shown
					   : value_map_with(arena, shown, "extracted",
						 extract(arena, whole, search->paths));
}

/* Shows thread: where the list is too long for what it holds, only that it is there. */
static enum store_status
show(struct search *search, struct arena *arena, const struct value *thread,
    const struct value *values)
{
	const struct value *last = NULL;
	const char *name = value_get_text(thread, "thread");
	enum store_status status =
	    store_last_checkpoint(api_store(search->call->api), arena, name, &last);

	if (status != STORE_OK && status != STORE_NONE)
		return status;
	if (last == NULL)
		values = NULL;
	if (!reply_list_add(&search->list, shape(search, arena, thread, last, values),
		SERVE_LIST_BYTES_MAX))
		reply_list_add(
		    &search->list, shape(search, arena, thread, last, NULL), SIZE_MAX);
	return STORE_OK;
}

/* Notes where thread stands among those that are found. */
static enum store_status
note(struct search *search, struct arena *arena, const struct value *thread)
{
	struct call *call = search->call;
	const char *by = search->order.by, *name = value_get_text(thread, "thread");
	struct found *found = &search->all[search->count];
	const struct value *last = NULL;
	enum store_status status = STORE_NONE;

	*found = (struct found){ .name = arena_strdup(call->arena, name),
		.text = "",
		.time = value_get_int(thread, "created", 0),
		.number = search->count };
	if (strcmp(by, "thread_id") == 0)
		found->text = found->name;
	else if (strcmp(by, "status") == 0)
		found->text = shape_thread_status(thread);
	else if (strcmp(by, "created_at") != 0)
		status = store_last_checkpoint(api_store(call->api), arena, name, &last);
	found->time = value_get_int(last, "at", found->time);
	return status == STORE_NONE ? STORE_OK : status;
}

/* Reads what is found, if it is. */
static enum store_status
find(struct search *search, struct arena *arena, const char *name)
{
	struct call *call = search->call;
	const struct value *wanted = value_get(call->body, "values");
	bool is_shown = !search->is_sorted && search->count >= search->first &&
			search->count < search->last;
	const struct value *thread, *values = NULL;
	enum store_status status =
	    store_thread_outline(api_store(call->api), arena, name, &thread);

	if (status != STORE_OK ||
	    !may_be_wanted(call, shape_thread(arena, thread, NULL, NULL)))
		return status;
	if (is_shown || value_size(wanted) > 0)
		status = blueprint_thread(call, arena, name, NULL, &thread, &values);
	if (status != STORE_OK ||
	    (value_size(wanted) > 0 && !select_matches(values, wanted)))
		return status;
	status = is_shown            ? show(search, arena, thread, values)
		 : search->is_sorted ? note(search, arena, thread)
				     : STORE_OK;
	search->count++;
	return status;
}

/* --- all ---------------------------------------------------------------------------------- */

/* Whether one more than what is shown was found: that there are more is all that is to be known then. */
static bool
has_enough(const struct search *search)
{
	return !search->is_sorted && search->last > 0 && search->count > search->last;
}

/* Looks at threads from the newest on. Returns STORE_OK, or why it ended. */
static enum store_status
look(struct search *search, const struct value *threads)
{
	enum store_status status;
	size_t i;

	for (i = 0; i < value_size(threads) && !has_enough(search); i++) {
		struct arena *arena = arena_new();

		status =
		    find(search, arena, value_get_text(value_at(threads, i), "thread"));
		arena_destroy(&arena);
		if (status != STORE_OK && status != STORE_NONE)
			return status;
	}
	return STORE_OK;
}

/* Those that are equal stand as they came to be. */
static int
compare(const void *a, const void *b)
{
	const struct found *one = a, *other = b;
	int by_text = strcmp(one->text, other->text);

	if (by_text != 0)
		return by_text;
	if (one->time != other->time && *one->text == '\0')
		return one->time < other->time ? -1 : 1;
	return one->number > other->number ? -1 : one->number < other->number;
}

/* Shows those between first and last. */
static enum store_status
show_sorted(struct search *search)
{
	struct call *call = search->call;
	enum store_status status;
	size_t i;

	if (search->count > 0)
		qsort(search->all, search->count, sizeof *search->all, compare);
	for (i = search->first; i < search->count && i < search->last; i++) {
		size_t at = search->order.is_ascending ? i : search->count - 1 - i;
		struct arena *arena = arena_new();
		const struct value *thread, *values;

		status = blueprint_thread(
		    call, arena, search->all[at].name, NULL, &thread, &values);
		if (status == STORE_OK)
			status = show(search, arena, thread, values);
		arena_destroy(&arena);
		if (status != STORE_OK && status != STORE_NONE)
			return status;
	}
	return STORE_OK;
}

/* is_open: no thread is passed over. */
static enum store_status
find_all(struct search *search, bool is_open, uint64_t *total_r)
{
	struct call *call = search->call;
	bool is_part = is_open && search->last > 0 && !search->is_sorted;
	const struct value *threads;
	enum store_status status = store_threads(api_store(call->api), call->arena,
	    call->tenant, is_part ? search->last + 1 : SEARCHED_MAX, &threads, total_r);

	if (status == STORE_OK && search->is_sorted)
		search->all = arena_alloc(
		    call->arena, (value_size(threads) + 1) * sizeof *search->all);
	if (status == STORE_OK)
		status = look(search, threads);
	if (status == STORE_OK && search->is_sorted)
		status = show_sorted(search);
	if (!is_open)
		*total_r = search->count;
	return status;
}

/* Finds what body asks for; last 0: all, to be counted. Returns false after answering; total_r: how many there are, or at
 * least so many, of those that are not looked at any more. */
static bool
search(struct search *search, uint64_t *total_r)
{
	struct call *call = search->call;
	const struct value *body = call->body;
	bool is_open = value_is_nil(value_get(body, "status")) &&
		       value_size(value_get(body, "metadata")) == 0 &&
		       value_size(value_get(body, "values")) == 0 &&
		       value_size(value_get(body, "ids")) == 0;
	enum store_status status;

	if (!can_search(call))
		return false;
	status = room_for_list(call);
	if (status == STORE_OK) {
		status = find_all(search, is_open, total_r);
		room_leave_list(call);
	}
	if (status != STORE_OK)
		reply_failed(call, status, "threads");
	return status == STORE_OK;
}

void
call_threads_search(struct call *call)
{
	static const char orders[] =
	    "created_at updated_at state_updated_at thread_id status";
	int64_t limit = call_number(call, "limit", LIMIT, 1, LIMIT_MAX), offset = 0;
	struct search asked = { .call = call };
	uint64_t total;

	if (limit != -1)
		offset = call_number(call, "offset", 0, 0, SEARCHED_MAX);
	if (limit == -1 || offset == -1 ||
	    !select_read(call, SELECT_THREAD, &asked.fields) ||
	    !select_order_read(call, orders, &asked.order) ||
	    !extract_read(call, &asked.paths))
		return;
	asked.is_sorted =
	    asked.order.is_ascending || strcmp(asked.order.by, "created_at") != 0;
	asked.first = (size_t)offset;
	asked.last = (size_t)(limit + offset);
	if (!search(&asked, &total)) {
		reply_list_drop(&asked.list);
		return;
	}
	select_pages(call, total, asked.count > asked.last ? asked.last : 0);
	reply_list_end(&asked.list, call);
}

void
call_threads_count(struct call *call)
{
	struct search asked = { .call = call };
	bool is_all = value_size(call->body) == 0;
	uint64_t total;

	asked.last = is_all ? 1 : 0;
	asked.first = 1; /* nothing is shown */
	if (search(&asked, &total))
		reply(call, 200,
		    value_int(call->arena, (int64_t)(is_all ? total : asked.count)));
}
