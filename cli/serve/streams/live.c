#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "bounds.h"
#include "id_table.h"
#include "listeners.h"
#include "memory.h"
#include "wire.h"

#define RUN "run."
#define ENDED "ended."
/* The subscription to ends stays so long behind who waited last: the next one is heard from the first moment. */
#define ENDS_KEPT_MS 60000u

struct live_ear {
	TAILQ_ENTRY(live_ear) link;
	struct topic *topic;
	void (*heard)(void *arg, const char *kind, const void *body, size_t size);
	void *arg;
};

/* A run that somebody listens to. */
struct topic {
	struct live *live;
	struct id_table *table; /* topics or ends */
	struct id_key key;
	char *run, *prefix; /* prefix: its own subscription, or NULL */
	TAILQ_HEAD(, live_ear) ears;
};

struct live {
	struct listeners *listeners;
	struct loop *loop;
	struct id_table *topics, *ends; /* who follows a run, who waits for its end */
	size_t end_count;
	bool hears_ends;
	struct timer *ends_timer;
	struct live_ear *next; /* to hear what is being told */
};

static void
tell(struct topic *topic, const char *kind, struct parts *parts)
{
	struct live *live = topic->live;
	struct live_ear *ear;

	for (ear = TAILQ_FIRST(&topic->ears); ear != NULL; ear = live->next) {
		live->next = TAILQ_NEXT(ear, link);
		ear->heard(ear->arg, kind, parts_data(parts, 1), parts_size(parts, 1));
	}
}

/* run.<run>.<kind>, or ended.<run>; a run's id may have dots. */
static void
on_message(void *arg, struct parts *parts, bool truncated)
{
	struct live *live = arg;
	char text[TOPIC_BYTES_MAX + 1];
	struct topic *topic = NULL;
	const char *kind = "";
	size_t size;
	char *dot;

	if (truncated || parts->count < 2 || parts_size(parts, 0) > TOPIC_BYTES_MAX)
		return;
	size = parts_size(parts, 0);
	memcpy(text, parts_data(parts, 0), size);
	text[size] = '\0';
	dot = strrchr(text, '.');
	if (strncmp(text, ENDED, strlen(ENDED)) == 0) {
		topic = id_table_get(live->ends, text + strlen(ENDED));
	} else if (strncmp(text, RUN, strlen(RUN)) == 0 && dot >= text + strlen(RUN)) {
		*dot = '\0';
		kind = dot + 1;
		topic = id_table_get(live->topics, text + strlen(RUN));
	}
	if (topic != NULL)
		tell(topic, kind, parts);
}

struct live *
live_new(struct session *session)
{
	struct live *live = xcalloc(1, sizeof *live);
	uint64_t seed;

	arc4random_buf(&seed, sizeof seed);
	live->loop = session_loop(session);
	live->topics = id_table_new(seed);
	live->ends = id_table_new(seed);
	live->listeners = listeners_new(session, on_message, live);
	if (live->listeners == NULL)
		live_destroy(&live);
	return live;
}

void
live_destroy(struct live **live_p)
{
	struct live *live = *live_p;

	if (live == NULL)
		return;
	*live_p = NULL;
	timer_stop(&live->ends_timer);
	listeners_destroy(&live->listeners);
	id_table_destroy(&live->topics);
	id_table_destroy(&live->ends);
	free(live);
}

static void
subscribe_run(struct topic *topic)
{
	size_t size = strlen(RUN) + strlen(topic->run) + 2;

	topic->prefix = xcalloc(1, size);
	snprintf(topic->prefix, size, RUN "%s.", topic->run);
	listeners_subscribe(topic->live->listeners, topic->prefix);
}

static void
on_ends_over(void *arg)
{
	struct live *live = arg;

	timer_stop(&live->ends_timer);
	live->hears_ends = false;
	listeners_unsubscribe(live->listeners, ENDED);
}

static void
subscribe_ends(struct topic *topic)
{
	struct live *live = topic->live;

	timer_stop(&live->ends_timer);
	live->end_count++;
	if (!live->hears_ends)
		listeners_subscribe(live->listeners, ENDED);
	live->hears_ends = true;
}

static struct topic *
open_topic(struct live *live, struct id_table *table, const char *run)
{
	struct topic *topic = xcalloc(1, sizeof *topic);

	topic->live = live;
	topic->table = table;
	topic->run = xstrdup(run);
	TAILQ_INIT(&topic->ears);
	id_table_put(table, &topic->key, topic->run, topic);
	if (table == live->ends)
		subscribe_ends(topic);
	else
		subscribe_run(topic);
	return topic;
}

static void
close_topic(struct topic *topic)
{
	struct live *live = topic->live;

	if (topic->prefix != NULL)
		listeners_unsubscribe(live->listeners, topic->prefix);
	else if (--live->end_count == 0)
		live->ends_timer =
		    timer_start(live->loop, ENDS_KEPT_MS, 0, on_ends_over, live);
	id_table_remove(topic->table, &topic->key);
	free(topic->prefix);
	free(topic->run);
	free(topic);
}

static struct live_ear *
listen_in(struct live *live, struct id_table *table, const char *run,
    void (*heard)(void *arg, const char *kind, const void *body, size_t size), void *arg)
{
	struct live_ear *ear = xcalloc(1, sizeof *ear);

	ear->topic = id_table_get(table, run);
	if (ear->topic == NULL)
		ear->topic = open_topic(live, table, run);
	ear->heard = heard;
	ear->arg = arg;
	TAILQ_INSERT_TAIL(&ear->topic->ears, ear, link);
	return ear;
}

struct live_ear *
live_listen(struct live *live, const char *run,
    void (*heard)(void *arg, const char *kind, const void *body, size_t size), void *arg)
{
	return listen_in(live, live->topics, run, heard, arg);
}

struct live_ear *
live_listen_end(struct live *live, const char *run,
    void (*heard)(void *arg, const char *kind, const void *body, size_t size), void *arg)
{
	return listen_in(live, live->ends, run, heard, arg);
}

void
live_unlisten(struct live_ear **ear_p)
{
	struct live_ear *ear = *ear_p;
	struct topic *topic;

	if (ear == NULL)
		return;
	*ear_p = NULL;
	topic = ear->topic;
	if (topic->live->next == ear)
		topic->live->next = TAILQ_NEXT(ear, link);
	TAILQ_REMOVE(&topic->ears, ear, link);
	free(ear);
	if (TAILQ_EMPTY(&topic->ears))
		close_topic(topic);
}
