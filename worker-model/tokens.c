#include "tokens.h"

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

	publish(tokens, arena, "restart", value_empty_map());
	arena_destroy(&arena);
}

static void
publish_text(struct tokens *tokens)
{
	struct arena *arena = arena_new();
	const struct packet *text = &tokens->text;

	publish(tokens, arena, "token",
	    value_map(arena, "content", value_strn(arena, text->data, text->size),
		"index", value_int(arena, (int64_t)tokens->index), NULL));
	arena_destroy(&arena);
}

void
tokens_flush(struct tokens *tokens)
{
	timer_stop(&tokens->flusher);
	if (tokens->text.size == 0)
		return;
	publish_text(tokens);
	tokens->text.size = 0;
	tokens->index++;
	tokens->shown_ms = loop_now_ms(tokens->loop);
}

static void
on_flush(void *arg)
{
	tokens_flush(arg);
}

void
tokens_begin(struct tokens *tokens, const char *model)
{
	tokens->model = model;
	timer_stop(&tokens->flusher);
	tokens->text.size = 0;
	if (tokens->index > 0)
		publish_restart(tokens);
	tokens->index = 0;
	tokens->shown_ms = 0;
}

void
tokens_shown_elsewhere(struct tokens *tokens)
{
	if (tokens->index == 0)
		tokens->index = 1;
}

void
tokens_add(struct tokens *tokens, const char *text, size_t size)
{
	uint64_t silent_ms = loop_now_ms(tokens->loop) - tokens->shown_ms;

	packet_append(&tokens->text, text, size);
	if (silent_ms >= TOKENS_MS || tokens->text.size >= TOKENS_BYTES)
		tokens_flush(tokens);
	else if (tokens->flusher == NULL && size > 0)
		tokens->flusher =
		    timer_start(tokens->loop, TOKENS_MS - silent_ms, 0, on_flush, tokens);
}

void
tokens_release(struct tokens *tokens)
{
	timer_stop(&tokens->flusher);
	packet_release(&tokens->text);
}
