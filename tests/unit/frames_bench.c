#include "frames_bench.h"

#include <check.h>
#include <string.h>

#include "json.h"
#include "literal.h"

static const struct frames_run run = { "r", "t", "agent", NULL, NULL, false };

struct frames_bench fb;

void
fb_begin(unsigned modes, const char *last_id)
{
	frames_destroy(&fb.frames);
	fb.frames = frames_new(&run, modes, last_id);
}

void
fb_open(void)
{
	fb.arena = arena_new();
	fb.frames = NULL;
}

void
fb_close(void)
{
	frames_destroy(&fb.frames);
	arena_destroy(&fb.arena);
}

/* --- what happens ------------------------------------------------------------------------- */

void
fb_hear(const char *event)
{
	frames_live(fb.frames, fb.arena, literal(fb.arena, event));
}

void
fb_hear_answer(unsigned answer, int step, int offset, const char *text)
{
	frames_live(fb.frames, fb.arena,
	    value_map(fb.arena, "kind", value_str(fb.arena, "token"), "step",
		value_int(fb.arena, step), "offset", value_int(fb.arena, offset),
		"content", value_str(fb.arena, text), "model", value_str(fb.arena, "m"),
		"answer", answer != 0 ? value_int(fb.arena, answer) : NULL, NULL));
}

void
fb_hear_text(int step, int offset, const char *text)
{
	fb_hear_answer(0, step, offset, text);
}

void
fb_end_step(int seq, int step, const char *node, const char *messages)
{
	frames_step(fb.frames, fb.arena,
	    value_map(fb.arena, "kind", value_str(fb.arena, "step"), "step",
		value_int(fb.arena, step), "node", value_str(fb.arena, node), NULL),
	    literal(fb.arena, messages));
	frames_close(fb.frames, (uint64_t)seq);
}

/* --- what is shown ------------------------------------------------------------------------ */

/* What begins the line at *at_p and ends it; NULL where another line stands. Goes behind it. */
static const char *
take_line(const char **at_p, const char *begin)
{
	size_t size = strcspn(*at_p, "\n");
	const char *line = arena_copy(fb.arena, *at_p, size);

	if (strncmp(line, begin, strlen(begin)) != 0)
		return NULL;
	*at_p += size + 1;
	return line + strlen(begin);
}

static const char *id_of_last;

/* Without what tells answers apart. */
static int
short_of(const char *id)
{
	const char *end = id;
	unsigned colons = 0;

	for (; *end != '\0' && (*end != ':' || ++colons < 3); end++)
		continue;
	return (int)(end - id);
}

static const char *
summary(const char *event, const char *id, const struct value *data)
{
	const struct value *message = value_at(data, 0);

	if (strcmp(event, "messages") == 0)
		data = value_map(fb.arena, value_get_text(message, "id"),
		    value_get(message, "content"), NULL);
	else if (strncmp(event, "messages/", 9) == 0 && message != NULL)
		data = value_get(message, "content");
	id_of_last = id;
	return arena_printf(
	    fb.arena, "%s@%.*s %s\n", event, short_of(id), id, json_text(fb.arena, data));
}

const char *
fb_shown(void)
{
	const struct packet *bytes = frames_bytes(fb.frames);
	const char *all = "", *at = arena_copy(fb.arena, bytes->data, bytes->size),
		   *error;
	char *quote;

	while (*at != '\0') {
		const char *event = take_line(&at, "event: ");
		const char *text = take_line(&at, "data: ");
		const char *id = take_line(&at, "id: ");
		const struct value *data;

		ck_assert_msg(event != NULL && text != NULL && id != NULL && *at == '\n',
		    "no frame: %s", bytes->data);
		at++;
		data = json_parse(fb.arena, text, strlen(text), &error);
		ck_assert_msg(data != NULL, "%s: %s", error, text);
		all = arena_printf(fb.arena, "%s%s", all, summary(event, id, data));
	}
	frames_taken(fb.frames);
	all = quote = arena_strdup(fb.arena, all);
	while ((quote = strchr(quote, '"')) != NULL)
		*quote = '\'';
	return all;
}

const char *
fb_last_id(void)
{
	fb_shown();
	return id_of_last;
}

const struct value *
fb_only(void)
{
	const char *text = strstr(frames_bytes(fb.frames)->data, "data: "), *error;
	const struct value *data;

	ck_assert_ptr_nonnull(text);
	text = arena_copy(fb.arena, text + 6, strcspn(text + 6, "\n"));
	data = json_parse(fb.arena, text, strlen(text), &error);
	ck_assert_msg(data != NULL, "%s: %s", error, text);
	frames_taken(fb.frames);
	return data;
}
