#include "live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "bounds.h"
#include "id_table.h"
#include "listeners.h"
#include "memory.h"
#include "wire.h"

#define RUN "run."

struct live_ear {
	TAILQ_ENTRY(live_ear) link;
	struct topic *topic;
	void (*heard)(void *arg, const char *kind, const void *body, size_t size);
	void *arg;
};

/* A run that somebody listens to. */
struct topic {
	struct live *live;
	struct id_key key;
	char *run, *prefix;
	TAILQ_HEAD(, live_ear) ears;
};

struct live {
	struct listeners *listeners;
	struct id_table *topics;
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

/* run.<run>.<kind>; a run's id may have dots. */
static void
on_message(void *arg, struct parts *parts, bool truncated)
{
	struct live *live = arg;
	char text[TOPIC_BYTES_MAX + 1];
	size_t size;
	char *dot;
	struct topic *topic;

	if (truncated || parts->count < 2 || parts_size(parts, 0) > TOPIC_BYTES_MAX)
		return;
	size = parts_size(parts, 0);
	memcpy(text, parts_data(parts, 0), size);
	text[size] = '\0';
	dot = strrchr(text, '.');
	if (strncmp(text, RUN, strlen(RUN)) != 0 || dot < text + strlen(RUN))
		return;
	*dot = '\0';
	topic = id_table_get(live->topics, text + strlen(RUN));
	if (topic != NULL)
		tell(topic, dot + 1, parts);
}

struct live *
live_new(struct session *session)
{
	struct live *live = xcalloc(1, sizeof *live);
	uint64_t seed;

	arc4random_buf(&seed, sizeof seed);
	live->topics = id_table_new(seed);
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
	listeners_destroy(&live->listeners);
	id_table_destroy(&live->topics);
	free(live);
}

static struct topic *
open_topic(struct live *live, const char *run)
{
	struct topic *topic = xcalloc(1, sizeof *topic);

	topic->live = live;
	topic->run = xstrdup(run);
	topic->prefix = xcalloc(1, strlen(RUN) + strlen(run) + 2);
	memcpy(topic->prefix, RUN, strlen(RUN));
	memcpy(topic->prefix + strlen(RUN), run, strlen(run));
	topic->prefix[strlen(RUN) + strlen(run)] = '.';
	TAILQ_INIT(&topic->ears);
	id_table_put(live->topics, &topic->key, topic->run, topic);
	listeners_subscribe(live->listeners, topic->prefix);
	return topic;
}

static void
close_topic(struct topic *topic)
{
	struct live *live = topic->live;

	listeners_unsubscribe(live->listeners, topic->prefix);
	id_table_remove(live->topics, &topic->key);
	free(topic->prefix);
	free(topic->run);
	free(topic);
}

struct live_ear *
live_listen(struct live *live, const char *run,
    void (*heard)(void *arg, const char *kind, const void *body, size_t size), void *arg)
{
	struct live_ear *ear = xcalloc(1, sizeof *ear);

	ear->topic = id_table_get(live->topics, run);
	if (ear->topic == NULL)
		ear->topic = open_topic(live, run);
	ear->heard = heard;
	ear->arg = arg;
	TAILQ_INSERT_TAIL(&ear->topic->ears, ear, link);
	return ear;
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
