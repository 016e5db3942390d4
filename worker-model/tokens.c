#include "tokens.h"

#include <stdlib.h>

#include <sodium.h>

#include "memory.h"

static void
publish(struct tokens *tokens, struct arena *arena, const char *kind,
    const struct value *body)
{
	body = value_map_with(arena, body, "kind", value_str(arena, kind));
	body = value_map_with(arena, body, "model", value_str(arena, tokens->model));
	tokens->publish(tokens->arg, kind, value_map_merge(arena, tokens->about, body));
}

static void
publish_restart(struct tokens *tokens)
{
	struct arena *arena = arena_new();

	publish(tokens, arena, "restart",
	    value_map(arena, "answer",
		tokens->answer != 0 ? value_int(arena, tokens->answer) : NULL, NULL));
	arena_destroy(&arena);
}

static void
publish_text(struct tokens *tokens)
{
	struct arena *arena = arena_new();
	const struct packet *text = &tokens->text;

	while (tokens->answer == 0)
		tokens->answer = randombytes_random();
	publish(tokens, arena, "token",
	    value_map(arena, "content", value_strn(arena, text->data, text->size),
		"answer", value_int(arena, tokens->answer), "index",
		value_int(arena, (int64_t)tokens->index), "offset",
		value_int(arena, (int64_t)tokens->shown_bytes), NULL));
	arena_destroy(&arena);
}

static void
flush(struct tokens *tokens)
{
	timer_stop(&tokens->flusher);
	if (tokens->text.size == 0)
		return;
	publish_text(tokens);
	tokens->shown_bytes += tokens->text.size;
	tokens->text.size = 0;
	tokens->index++;
	tokens->shown_ms = loop_now_ms(tokens->loop);
}

static void
on_flush(void *arg)
{
	flush(arg);
}

/* --- filters ------------------------------------------------------------------------ */

static void
drop_filters(struct tokens *tokens)
{
	size_t i;

	for (i = 0; i < tokens->filter_count; i++)
		tokens->filters[i]->destroy(tokens->filters[i]);
	free(tokens->filters);
	tokens->filters = NULL;
	tokens->filter_count = 0;
}

static void
make_filters(struct tokens *tokens)
{
	size_t i = tokens->chain == NULL ? 0 : tokens->chain->count;

	if (!tokens_are_filtered(tokens))
		return;
	tokens->filters = xcalloc(i, sizeof(struct text_filter *));
	for (; i > 0; i--) {
		const struct middleware_use *use = tokens->chain->uses[i - 1];

		if (use->filters_tokens)
			tokens->filters[tokens->filter_count++] =
			    use->type->filter_tokens(use);
	}
}

bool
tokens_are_filtered(const struct tokens *tokens)
{
	size_t i;

	for (i = 0; tokens->chain != NULL && i < tokens->chain->count; i++)
		if (tokens->chain->uses[i]->filters_tokens)
			return true;
	return false;
}

/* Gathers what the filters from one on make of text. */
static void
gather(struct tokens *tokens, size_t filter, const char *text, size_t size)
{
	struct packet out = { 0 };

	if (size == 0)
		return;
	if (filter == tokens->filter_count) {
		packet_append(&tokens->text, text, size);
		return;
	}
	tokens->filters[filter]->feed(tokens->filters[filter], text, size, &out);
	gather(tokens, filter + 1, out.data, out.size);
	packet_release(&out);
}

static void
end_filters(struct tokens *tokens)
{
	size_t i;

	for (i = 0; i < tokens->filter_count; i++) {
		struct packet out = { 0 };

		tokens->filters[i]->end(tokens->filters[i], &out);
		gather(tokens, i + 1, out.data, out.size);
		packet_release(&out);
	}
	drop_filters(tokens);
}

/* --- an answer ---------------------------------------------------------------------- */

void
tokens_broke_off(struct tokens *tokens)
{
	timer_stop(&tokens->flusher);
	tokens->text.size = 0;
	if (tokens->index > 0)
		publish_restart(tokens);
	tokens->answer = 0;
	tokens->index = 0;
	tokens->shown_bytes = 0;
	tokens->shown_ms = 0;
	drop_filters(tokens);
}

void
tokens_begin(struct tokens *tokens, const char *model)
{
	tokens->model = model;
	tokens_broke_off(tokens);
	make_filters(tokens);
}

void
tokens_shown_elsewhere(struct tokens *tokens)
{
	if (tokens->index == 0)
		tokens->index = 1;
}

/* Shows what was gathered, at once or soon. */
static void
show(struct tokens *tokens)
{
	uint64_t silent_ms = loop_now_ms(tokens->loop) - tokens->shown_ms;

	if (silent_ms >= TOKENS_MS || tokens->text.size >= TOKENS_BYTES)
		flush(tokens);
	else if (tokens->flusher == NULL && tokens->text.size > 0)
		tokens->flusher =
		    timer_start(tokens->loop, TOKENS_MS - silent_ms, 0, on_flush, tokens);
}

void
tokens_add(struct tokens *tokens, const char *text, size_t size)
{
	gather(tokens, 0, text, size);
	show(tokens);
}

/* What the first filter lets go comes to the others before they are told. */
void
tokens_break(struct tokens *tokens)
{
	size_t i;

	for (i = 0; i < tokens->filter_count; i++) {
		struct packet out = { 0 };

		tokens->filters[i]->feed(tokens->filters[i], "", 0, &out);
		gather(tokens, i + 1, out.data, out.size);
		packet_release(&out);
	}
	show(tokens);
}

void
tokens_end(struct tokens *tokens)
{
	end_filters(tokens);
	flush(tokens);
}

void
tokens_release(struct tokens *tokens)
{
	timer_stop(&tokens->flusher);
	drop_filters(tokens);
	packet_release(&tokens->text);
}
