/* What of a message is text, and may be private. */
#include "pii_message.h"

/* map with the strings under its keys redacted; the same pointer when there was nothing. */
static const struct value *
redact_keys(struct arena *arena, const struct pii_rule *rule, const struct value *map,
    const char *const *keys, struct pii_findings *findings)
{
	for (; *keys != NULL; keys++) {
		const struct value *old = value_get(map, *keys), *new;

		if (old == NULL)
			continue;
		new = pii_redact_value(arena, rule, old, findings);
		if (new != old)
			map = value_map_with(arena, map, *keys, new);
	}
	return map;
}

/* A document's, which may be text; base64 is none. */
static const struct value *
redact_source(struct arena *arena, const struct pii_rule *rule, const struct value *block,
    struct pii_findings *findings)
{
	static const char *const texts[] = { "data", NULL }, *const others[] = {
		"content", NULL
	};
	const struct value *old = value_get(block, "source"), *new;

	if (!value_is(old, VALUE_MAP))
		return block;
	new = redact_keys(arena, rule, old,
	    value_text_is(value_get(old, "type"), "text") ? texts : others, findings);
	return new == old ? block : value_map_with(arena, block, "source", new);
}

/* What is quoted in a list of a text's; places and what is for the provider alone stay. */
static const struct value *
redact_quotes(struct arena *arena, const struct pii_rule *rule, const struct value *block,
    const char *name, struct pii_findings *findings)
{
	static const char *const texts[] = { "cited_text", "title", "document_title",
		"text", NULL };
	const struct value *quotes = value_get(block, name);
	struct value_list list = { .arena = arena };
	bool changed = false;
	size_t i;

	for (i = 0; value_is(quotes, VALUE_ARRAY) && i < quotes->size; i++) {
		const struct value *quote =
		    redact_keys(arena, rule, quotes->items[i], texts, findings);

		changed |= quote != quotes->items[i];
		value_list_add(&list, quote);
	}
	return changed ? value_map_with(arena, block, name, value_list_end(&list))
		       : block;
}

/* What was thought: a text, or, Bedrock's, one with its signature. */
static const struct value *
redact_thought(struct arena *arena, const struct pii_rule *rule,
    const struct value *block, struct pii_findings *findings)
{
	static const char *const texts[] = { "text", NULL };
	static const char *const name = "reasoning_content";
	const struct value *old = value_get(block, name), *new;

	if (old == NULL)
		return block;
	new = value_is(old, VALUE_MAP) ? redact_keys(arena, rule, old, texts, findings)
				       : pii_redact_value(arena, rule, old, findings);
	return new == old ? block : value_map_with(arena, block, name, new);
}

/* Of a block of content what is text; pictures and signatures are not. */
static const struct value *
redact_block(struct arena *arena, const struct pii_rule *rule, const struct value *block,
    struct pii_findings *findings)
{
	static const char *const texts[] = { "text", "content", "thinking", "reasoning",
		"summary", "refusal", "title", "context", NULL };

	if (!value_is(block, VALUE_MAP))
		return pii_redact_value(arena, rule, block, findings);
	block = redact_keys(arena, rule, block, texts, findings);
	block = redact_thought(arena, rule, block, findings);
	block = redact_source(arena, rule, block, findings);
	block = redact_quotes(arena, rule, block, "citations", findings);
	return redact_quotes(arena, rule, block, "annotations", findings);
}

static const struct value *
redact_content(struct arena *arena, const struct pii_rule *rule,
    const struct value *content, struct pii_findings *findings)
{
	struct value_list list = { .arena = arena };
	bool changed = false;
	size_t i;

	if (!value_is(content, VALUE_ARRAY))
		return pii_redact_value(arena, rule, content, findings);
	for (i = 0; i < content->size; i++) {
		const struct value *block =
		    redact_block(arena, rule, content->items[i], findings);

		changed |= block != content->items[i];
		value_list_add(&list, block);
	}
	return changed ? value_list_end(&list) : content;
}

const struct value *
pii_redact_message(struct arena *arena, const struct pii_rule *rule,
    const struct value *message, struct pii_findings *findings)
{
	const struct value *content = value_get(message, "content"), *redacted;
	const struct value *more = value_get(message, "additional_kwargs"), *rest;
	const struct value *details = value_get(more, "reasoning_details");

	rest = more == NULL ? NULL : redact_block(arena, rule, more, findings);
	redacted = redact_content(arena, rule, details, findings);
	if (redacted != details)
		rest = value_map_with(arena, rest, "reasoning_details", redacted);
	if (rest != more)
		message = value_map_with(arena, message, "additional_kwargs", rest);
	redacted = redact_content(arena, rule, content, findings);
	if (redacted == content)
		return message;
	message = value_map_with(arena, message, "content", redacted);
	return value_has(message, "artifact")
		   ? value_map_with(arena, message, "artifact", NULL)
		   : message;
}
