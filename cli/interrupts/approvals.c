/* approvals: what waits for a human, on all threads. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "actions.h"
#include "show.h"
#include "store_fleet.h"
#include "tame.h"

struct approvals_settings {
	struct common_settings common;
	int64_t limit;
	const char *agent, *tenant;
};

#define SETTING(field) offsetof(struct approvals_settings, field)
static const struct setting table[] = {
	COMMON_SETTINGS,
	{ "limit", SETTING_INTEGER, SETTING(limit), "50", 1, 10000, NULL,
	    "how many threads, those that wait longest", 'n' },
	{ "agent", SETTING_TEXT, SETTING(agent), NULL, 0, 0, NULL, "only this agent's",
	    'a' },
	{ "tenant", SETTING_TEXT, SETTING(tenant), NULL, 0, 0, NULL, "only this tenant's",
	    0 },
	SETTINGS_END,
};

static int64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool
is_wanted(const char *wanted, const struct value *value)
{
	return wanted == NULL || value_text_is(value, wanted);
}

/* What thread waits for, or NULL: nothing any more, or what is not wanted. */
static const struct value *
waiting_on(struct session *session, const struct approvals_settings *settings,
    const struct value *found)
{
	struct store *store = session_store(session);
	struct arena *arena = session_arena(session);
	const char *thread = value_get_text(found, "thread"), *run;
	int64_t since = value_get_int(found, "since", 0), now = wall_ms();
	const struct value *head, *record = NULL, *items;

	if (store_head(store, arena, thread, &head) != STORE_OK ||
	    !is_wanted(settings->agent, value_get(head, "agent")))
		return NULL;
	items = actions_of(arena, head);
	run = value_get_text(head, "run");
	if (value_size(items) == 0 || run == NULL)
		return NULL;
	store_run(store, arena, thread, run, &record);
	if (!is_wanted(settings->tenant, value_get(record, "tenant")))
		return NULL;
	return value_map(arena, "thread", value_str(arena, thread), "run",
	    value_str(arena, run), "agent", value_get(head, "agent"), "tenant",
	    value_get(record, "tenant"), "since", value_int(arena, since), "waits_ms",
	    value_int(arena, now > since ? now - since : 0), "node",
	    value_get(head, "next"), "waiting", items, NULL);
}

static enum status
collect(struct session *session, const struct approvals_settings *settings,
    const struct value **list_r)
{
	struct value_list list = { .arena = session_arena(session) };
	const struct value *threads, *one;
	enum store_status status =
	    store_asks(session_store(session), list.arena, &threads);
	size_t i;

	if (status != STORE_OK)
		return (enum status)session_store_failed(session, status);
	for (i = 0; i < value_size(threads) && list.count < (size_t)settings->limit;
	     i++) {
		if (session_interrupted(session))
			return STATUS_FAILED;
		one = waiting_on(session, settings, value_at(threads, i));
		if (one != NULL)
			value_list_add(&list, one);
	}
	*list_r = value_list_end(&list);
	return STATUS_OK;
}

/* How the actions are answered. */
static void
print_hint(struct arena *arena, const struct value *one)
{
	const struct value *items = value_get(one, "waiting");
	const char *thread = value_get_text(one, "thread");
	size_t actions = 0, i;

	for (i = 0; i < value_size(items); i++)
		actions += actions_is_one(value_at(items, i));
	if (actions == 0)
		return;
	printf("      flotilla approve|reject|edit|respond %s%s\n",
	    show_line(arena, thread, 200), actions > 1 ? " [ACTION...]" : "");
	if (value_get_int(value_at(items, 0), "parts", 0) > 1)
		printf("      answered together: --rest approve|reject decides those not "
		       "named\n");
}

static void
print_one(struct arena *arena, const struct value *one)
{
	const char *thread = value_get_text(one, "thread");
	const char *agent = value_get_text(one, "agent");
	const char *tenant = value_get_text(one, "tenant");
	const struct value *items = value_get(one, "waiting");
	size_t i;

	printf("%s  run %s, agent %s%s%s, waits %s\n", show_line(arena, thread, 200),
	    value_get_text(one, "run"), agent != NULL ? agent : "?",
	    tenant != NULL ? ", tenant " : "",
	    tenant != NULL ? show_line(arena, tenant, 100) : "",
	    show_duration(arena, value_get_int(one, "waits_ms", 0)));
	for (i = 0; i < value_size(items); i++)
		actions_show(arena, thread, value_at(items, i), "  ");
	print_hint(arena, one);
}

static enum status
run_approvals(struct session *session, const void *given, const char *const *rest)
{
	const struct approvals_settings *settings = given;
	const struct value *list = NULL;
	enum status status;
	size_t i;

	(void)rest;
	if (session_store(session) == NULL)
		return STATUS_UNREACHABLE;
	status = collect(session, settings, &list);
	if (status != STATUS_OK)
		return status;
	if (session_json(session)) {
		printf("%s\n", tame_json(session_arena(session), list));
		return STATUS_OK;
	}
	for (i = 0; i < value_size(list); i++)
		print_one(session_arena(session), value_at(list, i));
	if (value_size(list) == 0)
		printf("nothing waits for a human\n");
	return STATUS_OK;
}

const struct command command_approvals = {
	.name = "approvals",
	.usage = "",
	.summary = "lists what waits for a human, on all threads",
	.text =
	    "Lists what waits for a human, who waits longest first: calls of tools to "
	    "approve, reject, edit or respond to, each with its number and its id; other "
	    "questions and pauses with the command that answers them.",
	.table = table,
	.settings_size = sizeof(struct approvals_settings),
	.arguments_max = 0,
	.run = run_approvals,
};
