/* threads: what a turn more costs on a thread of so many messages, in a real fleet: the bytes
 * of its commits, counted in Redis's append-only file, and its time. bench/README.md says what
 * is not in it.
 *
 *	bench-threads MESSAGES FILE TURNS      FILE: a JSON list of one message less, or "-"
 *
 * A thread is filled with FILE by one run, whose answer is the last message; with "-" by as many
 * turns as that takes (MESSAGES is even then). Then come the turns, one behind the other, as in a
 * conversation: the first is a warm-up. Prints a line for each of the others: "fleet MESSAGES COMMITS
 * BYTES_A_COMMIT BYTES_A_TURN US_A_COMMIT MS_A_TURN REQUEST_BYTES BARE_MS MS_WITHOUT", the last two
 * of them a request of as many bytes to the model server without a fleet, and the turn without that.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "arena.h"
#include "bare.h"
#include "fiber.h"
#include "load.h"
#include "loop.h"
#include "memory.h"
#include "redis.h"
#include "rig.h"
#include "socket.h"

#define FILE_BYTES_MAX ((size_t)8 << 20)
#define MESSAGES_MIN 10u /* with fewer answers in it the model server asks for a tool */
#define SLOW_LOG_ENTRIES "10000" /* of a turn, and of all that goes on beside it */
#define REDIS_WAIT_MS 10000u
#define QUESTION "\"And what is three times seventeen?\""

struct bytes {
	char *data;
	size_t size;
};

/* One turn, as it is measured. */
struct sample {
	size_t commits, commit_bytes, turn_bytes;
	int64_t commit_us; /* in Redis, all commits */
	size_t timed;      /* commits in it */
	double ms, bare_ms;
	uint64_t asked;
};

struct bench {
	struct loop *loop;
	struct rig *rig;
	struct load *load;
	struct redis *redis;
	struct bare *bare;
	const char *const *words; /* what tell() sends */
	struct sample *sample;    /* what it adds to, or NULL */
	bool told;
};

/* --- the append-only file -------------------------------------------------------------- */

/* What stands in the file from offset on; with a NUL behind it. */
static struct bytes
read_from(const char *path, long offset)
{
	struct bytes bytes = { 0 };
	FILE *file = fopen(path, "re");
	long end;

	if (file == NULL || fseek(file, 0, SEEK_END) == -1 ||
	    (end = ftell(file)) < offset || fseek(file, offset, SEEK_SET) == -1)
		err(EXIT_FAILURE, "%s", path);
	bytes.size = (size_t)(end - offset);
	bytes.data = xcalloc(bytes.size + 1, 1);
	if (fread(bytes.data, 1, bytes.size, file) != bytes.size)
		err(EXIT_FAILURE, "%s", path);
	fclose(file);
	return bytes;
}

static long
size_of(const char *path)
{
	FILE *file = fopen(path, "re");
	long end;

	if (file == NULL || fseek(file, 0, SEEK_END) == -1 || (end = ftell(file)) == -1)
		err(EXIT_FAILURE, "%s", path);
	fclose(file);
	return end;
}

/* The number behind a '*' or '$' at *at_p, which it takes behind its line. */
static size_t
take_number(const char **at_p, const char *end, char mark)
{
	char *behind;
	size_t number;

	if (*at_p >= end || **at_p != mark)
		errx(EXIT_FAILURE, "the append-only file is none");
	number = strtoul(*at_p + 1, &behind, 10);
	*at_p = behind + 2;
	return number;
}

/* Takes *at_p behind one command; its verb and its key are lent, and stay as they are when there
 * is none. */
static void
take_command(const char **at_p, const char *end, struct bytes *verb, struct bytes *key)
{
	size_t count = take_number(at_p, end, '*'), i;

	for (i = 0; i < count; i++) {
		struct bytes word = { .size = take_number(at_p, end, '$') };

		if (word.size + 2 > (size_t)(end - *at_p))
			errx(EXIT_FAILURE, "the append-only file ends in a command");
		word.data = (char *)*at_p;
		*at_p += word.size + 2;
		if (i == 0)
			*verb = word;
		else if (i == 1)
			*key = word;
	}
}

static bool
is(struct bytes word, const char *text)
{
	return word.size == strlen(text) && strncasecmp(word.data, text, word.size) == 0;
}

/* A function call is a transaction in the file; a commit's is the one that adds a checkpoint to
 * a thread's list. */
static void
count_commits(struct bytes log, struct sample *sample)
{
	const char *at = log.data, *end = at + log.size, *begin = at;
	bool is_commit = false;

	sample->turn_bytes = log.size;
	while (at < end) {
		struct bytes verb = { 0 }, key = { 0 };
		const char *here = at;

		take_command(&at, end, &verb, &key);
		if (is(verb, "multi")) {
			begin = here;
			is_commit = false;
		} else if (is(verb, "rpush") && key.size > 2 &&
			   memcmp(key.data + key.size - 2, ":c", 2) == 0) {
			is_commit = true;
		} else if (is(verb, "exec") && is_commit) {
			sample->commits++;
			sample->commit_bytes += (size_t)(at - begin);
		}
	}
}

/* --- how long Redis was at it ------------------------------------------------------------ */

static void
add_durations(const struct value *entries, struct sample *sample)
{
	size_t i;

	for (i = 0; i < value_size(entries); i++) {
		const struct value *entry = value_at(entries, i);
		const char *name = redis_reply_text(value_at(value_at(entry, 3), 1));

		if (name == NULL || strcmp(name, "fl_advance") != 0)
			continue;
		sample->commit_us += value_at(entry, 2)->integer;
		sample->timed++;
	}
}

static void
tell_main(void *arg)
{
	struct bench *bench = arg;
	struct arena *arena = arena_new();
	const struct value *reply;

	if (redis_text(bench->redis, arena, REDIS_WAIT_MS, &reply, bench->words[0],
		bench->words[1], bench->words[2], bench->words[3], NULL) != REDIS_OK)
		errx(
		    EXIT_FAILURE, "%s: %s", bench->words[0], redis_trouble(bench->redis));
	if (bench->sample != NULL)
		add_durations(reply, bench->sample);
	arena_destroy(&arena);
	bench->told = true;
}

static bool
is_told(void *arg)
{
	const struct bench *bench = arg;

	return bench->told;
}

/* Sends Redis up to four words; the durations of commits in the answer go to sample. */
static void
tell(struct bench *bench, const char *const words[4], struct sample *sample)
{
	bench->words = words;
	bench->sample = sample;
	bench->told = false;
	if (fiber_start(bench->loop, "tell", tell_main, bench) == NULL)
		errx(EXIT_FAILURE, "no room for a fiber");
	loop_run_until(bench->loop, is_told, bench);
}

/* --- a turn ------------------------------------------------------------------------------ */

static void
expect(struct bench *bench, size_t messages)
{
	size_t count = load_messages(bench->load);

	if (count != messages)
		errx(EXIT_FAILURE, "a thread has %zu messages, and should have %zu",
		    count, messages);
}

/* By one run, or, without filling, turn by turn. */
static void
fill(struct bench *bench, const char *thread, const char *filling, size_t messages)
{
	if (filling != NULL) {
		load_turn(bench->load, thread, filling);
		expect(bench, messages);
		return;
	}
	do {
		load_turn(bench->load, thread, QUESTION);
	} while (load_messages(bench->load) < messages);
}

/* One turn on the thread, which has so many messages then. */
static struct sample
measure(struct bench *bench, const char *thread, size_t messages)
{
	static const char *const reset[4] = { "SLOWLOG", "RESET" };
	static const char *const get[4] = { "SLOWLOG", "GET", SLOW_LOG_ENTRIES };
	const char *path = rig_log(bench->rig);
	struct sample sample = { 0 };
	struct bytes log;
	long began;

	tell(bench, reset, NULL);
	began = size_of(path);
	sample.asked = rig_asked_bytes(bench->rig);
	sample.ms = load_turn(bench->load, thread, QUESTION);
	sample.asked = rig_asked_bytes(bench->rig) - sample.asked;
	sample.bare_ms = bare_ms(bench->bare, sample.asked);
	expect(bench, messages);
	log = read_from(path, began);
	count_commits(log, &sample);
	free(log.data);
	tell(bench, get, &sample);
	if (sample.commits == 0 || sample.timed != sample.commits)
		errx(EXIT_FAILURE, "%zu commits stand in %s, Redis's slow log has %zu",
		    sample.commits, path, sample.timed);
	return sample;
}

static void
measure_all(struct bench *bench, size_t messages, const char *filling, unsigned turns)
{
	static const char thread[] = "thread";
	unsigned i;

	fill(bench, thread, filling, messages);
	for (i = 0; i <= turns; i++) {
		struct sample sample =
		    measure(bench, thread, messages + (size_t)2 * (i + 1));

		if (i == 0)
			continue; /* a warm-up */
		printf("fleet %zu %zu %.1f %zu %.1f %.3f %llu %.3f %.3f\n", messages,
		    sample.commits, (double)sample.commit_bytes / (double)sample.commits,
		    sample.turn_bytes, (double)sample.commit_us / (double)sample.commits,
		    sample.ms, (unsigned long long)sample.asked, sample.bare_ms,
		    sample.ms - sample.bare_ms);
	}
}

int
main(int argc, char *argv[])
{
	static const struct rig_options options = { .fsync = "always", .calls = 8 };
	static const char *const log_all[4] = { "CONFIG", "SET",
		"slowlog-log-slower-than", "0" };
	static const char *const log_room[4] = { "CONFIG", "SET", "slowlog-max-len",
		SLOW_LOG_ENTRIES };
	unsigned long messages = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long turns = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	struct bench bench = { 0 };
	struct bytes filling = { 0 };
	const char *error = NULL;

	if (messages < MESSAGES_MIN || turns < 1 || turns > 99)
		errx(2, "usage: bench-threads MESSAGES FILE TURNS (10 messages or more, "
			"at most 99 turns)");
	if (strcmp(argv[2], "-") != 0)
		filling = read_from(argv[2], 0);
	if (filling.size > FILE_BYTES_MAX)
		errx(2, "%s: more than 8 MiB", argv[2]);
	bench.loop = loop_new();
	bench.rig = rig_start(&options);
	bench.load = load_new(
	    bench.loop, rig_redis(bench.rig), rig_status(bench.rig), &load_usual);
	bench.redis = redis_new(bench.loop, rig_redis(bench.rig), NULL, &error);
	if (bench.redis == NULL)
		errx(EXIT_FAILURE, "%s", error);
	bench.bare = bare_new(rig_port(bench.rig));
	tell(&bench, log_room, NULL);
	tell(&bench, log_all, NULL);
	measure_all(&bench, messages, filling.data, (unsigned)turns);
	bare_destroy(&bench.bare);
	redis_destroy(&bench.redis);
	load_destroy(&bench.load);
	rig_stop(&bench.rig);
	loop_destroy(&bench.loop);
	socket_shutdown();
	free(filling.data);
	return EXIT_SUCCESS;
}
