/* pii: hides private values in what users, models and tools say (semantics.md 6.8).
 *
 * Hooks do what LangChain's do. Besides, nothing that a rule hides in an answer or in a tool's result
 * leaves the processes that must see it: outcomes are sealed before they are stored, tokens
 * filtered before they are shown (docs/middleware/pii.md, "What is promised"). A text that
 * was sealed comes to a hook again, which leaves alone what is replaced. */
#include "middleware.h"

#include <stdlib.h>
#include <string.h>

#include "pii_message.h"
#include "pii_stream.h"

#define ERROR "PIIDetectionError"

static const char *const hash_functions[] = { "langchain_js", "sha256", NULL };

static const struct option options[] = {
	{ .name = "pii_type",
	    .type = OPTION_TEXT,
	    .required = true,
	    .text =
		"What is looked for: `email`, `credit_card`, `ip`, `mac_address`, `url`, "
		"or a name of your own, with a detector." },
	{ .name = "strategy",
	    .type = OPTION_TEXT,
	    .otherwise = "\"redact\"",
	    .choices = pii_strategy_names,
	    .text = "What is done about it." },
	{ .name = "detector",
	    .type = OPTION_TEXT,
	    .nullable = true,
	    .text = "A regular expression that finds it, instead of the built-in way." },
	{ .name = "apply_to_input",
	    .type = OPTION_BOOL,
	    .otherwise = "true",
	    .text = "Looks at the last human message before each model call." },
	{ .name = "apply_to_output",
	    .type = OPTION_BOOL,
	    .otherwise = "false",
	    .text = "Looks at the model's answers, also while they are streamed." },
	{ .name = "apply_to_tool_results",
	    .type = OPTION_BOOL,
	    .otherwise = "false",
	    .text = "Looks at what tools answered." },
	{ .name = "stream_lookback",
	    .type = OPTION_INTEGER,
	    .otherwise = "128",
	    .min = 0,
	    .max = 65536,
	    .text = "Characters of a streamed answer that are held back in any case; "
		    "what may "
		    "become a match always is." },
	{ .name = "hash_function",
	    .type = OPTION_TEXT,
	    .otherwise = "\"langchain_js\"",
	    .choices = hash_functions,
	    .text =
		"With strategy `hash`: the one of LangChain's JavaScript, or `sha256`." },
	{ 0 },
};

/* --- the rule ----------------------------------------------------------------------- */

static bool
has(const struct value *settings, const char *name)
{
	return value_get_bool(settings, name, false);
}

static enum pii_strategy
strategy_of(const struct value *settings)
{
	const char *name = value_get_text(settings, "strategy");
	int strategy = PII_REDACT;

	while (strcmp(pii_strategy_names[strategy], name) != 0)
		strategy++;
	if (strategy == PII_HASH &&
	    value_text_is(value_get(settings, "hash_function"), "sha256"))
		strategy = PII_SHA256;
	return (enum pii_strategy)strategy;
}

static struct pii_rule *
rule_of(struct arena *arena, const struct value *settings, const char **error_r)
{
	return pii_rule_new(arena, value_get_text(settings, "pii_type"),
	    strategy_of(settings), value_get_text(settings, "detector"), error_r);
}

static void
destroy_rule(void *rule)
{
	struct pii_rule *gone = rule;

	pii_rule_destroy(&gone);
}

/* The rule of settings that configure has seen; it goes with the arena, since a hook may leave at
 * any line. */
static const struct pii_rule *
rule_in(struct arena *arena, const struct value *settings)
{
	const char *error = NULL;
	struct pii_rule *rule = rule_of(arena, settings, &error);

	if (rule != NULL)
		arena_on_destroy(arena, destroy_rule, rule);
	return rule;
}

static bool
is_name(const char *text)
{
	const char *at;

	for (at = text; *at != '\0'; at++)
		if ((unsigned char)*at <= ' ' || strchr("[].~:", *at) != NULL)
			return false;
	return *text != '\0' && strlen(text) <= 64;
}

static int
configure(struct arena *arena, struct middleware_use *use, const char **error_r)
{
	const char *type = value_get_text(use->settings, "pii_type");
	const struct value *detector = value_get(use->settings, "detector");
	struct pii_rule *rule;

	if (!is_name(type)) {
		*error_r =
		    "/pii_type: must be a name of up to 64 bytes without spaces and "
		    "any of [].~:";
		return -1;
	}
	if (value_text_is(detector, "")) {
		*error_r = "/detector: must not be empty";
		return -1;
	}
	rule = rule_of(arena, use->settings, error_r);
	if (rule == NULL) {
		*error_r = arena_printf(arena, "/%s: %s",
		    value_is_nil(detector) ? "pii_type" : "detector", *error_r);
		return -1;
	}
	pii_rule_destroy(&rule);
	use->name = arena_printf(arena, "PIIMiddleware[%s]", type);
	use->filters_tokens = has(use->settings, "apply_to_output");
	return 0;
}

/* --- hooks -------------------------------------------------------------------------- */

/* What a hook is at: messages that change. */
struct pass {
	struct turn *turn;
	const struct pii_rule *rule;
	struct pii_findings findings;
	struct value_list changed;
};

static void
treat(struct pass *pass, size_t index, bool again)
{
	struct arena *arena = turn_arena(pass->turn);
	const struct value *message = value_at(turn_messages(pass->turn), index),
			   *redacted;

	pass->findings.again = again;
	redacted = pii_redact_message(arena, pass->rule, message, &pass->findings);
	if (redacted != message)
		value_list_add(&pass->changed, redacted);
}

static bool
must_stop(const struct pii_rule *rule, const struct pii_findings *findings)
{
	return findings->gave_up ||
	       (findings->count > 0 && pii_rule_strategy(rule) == PII_BLOCK);
}

static const struct value *
end_pass(struct pass *pass)
{
	struct arena *arena = turn_arena(pass->turn);

	if (must_stop(pass->rule, &pass->findings))
		return turn_fail(pass->turn, ERROR, "%s",
		    pii_findings_text(arena, pass->rule, &pass->findings));
	if (pass->changed.count == 0)
		return NULL;
	return value_map(arena, "messages", value_list_end(&pass->changed), NULL);
}

static struct pass
begin_pass(struct turn *turn)
{
	struct arena *arena = turn_arena(turn);

	return (struct pass){ .turn = turn,
		.rule = rule_in(arena, turn_settings(turn)),
		.changed = { .arena = arena } };
}

static const struct value *
before_model(struct turn *turn)
{
	const struct value *messages = turn_messages(turn);
	struct pass pass = begin_pass(turn);
	size_t i = value_size(messages);
	long last = chat_last_ai(messages);

	while (has(turn_settings(turn), "apply_to_input") && i > 0)
		if (chat_is(value_at(messages, --i), "human")) {
			treat(&pass, i, true);
			break;
		}
	for (i = (size_t)last + 1; last != -1 && i < value_size(messages); i++)
		if (has(turn_settings(turn), "apply_to_tool_results") &&
		    chat_is(value_at(messages, i), "tool"))
			treat(&pass, i, true);
	return end_pass(&pass);
}

static const struct value *
after_model(struct turn *turn)
{
	long last = chat_last_ai(turn_messages(turn));
	struct pass pass;

	if (last == -1 || !has(turn_settings(turn), "apply_to_output"))
		return NULL;
	pass = begin_pass(turn);
	treat(&pass, (size_t)last, true);
	return end_pass(&pass);
}

/* --- what leaves -------------------------------------------------------------------- */

static const struct value *
seal_messages(struct arena *arena, const struct pii_rule *rule,
    const struct value *messages, const char *type, struct pii_findings *findings)
{
	struct value_list list = { .arena = arena };
	bool changed = false;

	for (size_t i = 0; i < value_size(messages); i++) {
		const struct value *message = value_at(messages, i), *sealed = message;

		if (chat_is(message, type))
			sealed = pii_redact_message(arena, rule, message, findings);
		changed |= sealed != message;
		value_list_add(&list, sealed);
	}
	return changed ? value_list_end(&list) : messages;
}

static const struct value *
seal_command(struct arena *arena, const struct pii_rule *rule,
    const struct value *command, struct pii_findings *findings)
{
	const struct value *update = value_get(command, "update");
	const struct value *messages = value_get(update, "messages"), *sealed;

	sealed = seal_messages(arena, rule, messages, "tool", findings);
	if (sealed == messages)
		return command;
	return value_map_with(
	    arena, command, "update", value_map_with(arena, update, "messages", sealed));
}

static const struct value *
seal_commands(struct arena *arena, const struct pii_rule *rule,
    const struct value *commands, struct pii_findings *findings)
{
	struct value_list list = { .arena = arena };
	size_t i;

	for (i = 0; i < value_size(commands); i++)
		value_list_add(
		    &list, seal_command(arena, rule, value_at(commands, i), findings));
	return value_list_end(&list);
}

/* map with the texts under key redacted. */
static const struct value *
seal_part(struct arena *arena, const struct pii_rule *rule, const struct value *map,
    const char *key, struct pii_findings *findings)
{
	const struct value *part = value_get(map, key);

	if (part == NULL)
		return map;
	return value_map_with(
	    arena, map, key, pii_redact_value(arena, rule, part, findings));
}

/* What else may quote it: reasons of failures, notes, questions. */
static const struct value *
seal_rest(struct arena *arena, const struct pii_rule *rule, const struct value *body,
    struct pii_findings *findings)
{
	const struct value *fault = value_get(body, "fault"), *notes;
	struct value_list list = { .arena = arena };
	size_t i;

	if (fault != NULL)
		body = value_map_with(arena, body, "fault",
		    seal_part(arena, rule, fault, "message", findings));
	notes = value_get(body, "notes");
	for (i = 0; i < value_size(notes); i++)
		value_list_add(
		    &list, seal_part(arena, rule, value_at(notes, i), "text", findings));
	if (list.count > 0)
		body = value_map_with(arena, body, "notes", value_list_end(&list));
	return seal_part(arena, rule, body, "interrupt", findings);
}

static const struct value *
fault_instead(struct arena *arena, const char *text)
{
	struct fault *fault = fault_new(arena, ERROR, "%s", text);

	fault->retryable = false;
	fault->fatal = true;
	return value_map(arena, "fault", fault_to_value(arena, fault), NULL);
}

static const struct value *
seal_outcome(struct arena *arena, const struct middleware_use *use, bool is_tool,
    const struct value *body)
{
	struct pii_findings findings = { 0 };
	const struct pii_rule *rule;
	const char *part = is_tool ? "commands" : "messages";
	const struct value *sealed;

	if (!has(use->settings, is_tool ? "apply_to_tool_results" : "apply_to_output"))
		return body;
	rule = rule_in(arena, use->settings);
	if (value_has(body, part)) {
		sealed = value_get(body, part);
		sealed = is_tool ? seal_commands(arena, rule, sealed, &findings)
				 : seal_messages(arena, rule, sealed, "ai", &findings);
		body = value_map_with(arena, body, part, sealed);
	}
	body = seal_rest(arena, rule, body, &findings);
	if (must_stop(rule, &findings))
		return fault_instead(arena, pii_findings_text(arena, rule, &findings));
	return body;
}

/* With PII_BLOCK the thread keeps the message, as LangChain's does, and so does the record. */
static const struct value *
seal_input(
    struct arena *arena, const struct middleware_use *use, const struct value *input)
{
	struct pii_findings findings = { .again = true };
	const struct value *messages = value_get(input, "messages"), *sealed;
	struct value_list list = { .arena = arena };
	const struct pii_rule *rule;
	size_t last = value_size(messages), i;

	while (last > 0 && !chat_is(value_at(messages, last - 1), "human"))
		last--;
	if (last == 0 || !has(use->settings, "apply_to_input"))
		return input;
	rule = rule_in(arena, use->settings);
	sealed = pii_redact_message(arena, rule, value_at(messages, last - 1), &findings);
	if (sealed == value_at(messages, last - 1))
		return input;
	for (i = 0; i < value_size(messages); i++)
		value_list_add(&list, i == last - 1 ? sealed : value_at(messages, i));
	return value_map_with(arena, input, "messages", value_list_end(&list));
}

struct token_filter {
	struct text_filter filter; /* first: it is found from it */
	struct arena *arena;       /* has the rule */
	struct pii_stream *stream;
};

static void
feed(struct text_filter *filter, const char *text, size_t size, struct packet *out)
{
	struct pii_stream *stream = ((struct token_filter *)filter)->stream;

	if (size == 0)
		pii_stream_break(stream, out);
	else
		pii_stream_feed(stream, text, size, out);
}

static void
end(struct text_filter *filter, struct packet *out)
{
	pii_stream_end(((struct token_filter *)filter)->stream, out);
}

static void
destroy(struct text_filter *filter)
{
	struct token_filter *own = (struct token_filter *)filter;

	pii_stream_destroy(&own->stream);
	arena_destroy(&own->arena);
	free(own);
}

static struct text_filter *
filter_tokens(const struct middleware_use *use)
{
	struct token_filter *own = calloc(1, sizeof *own);

	if (own == NULL)
		arena_exhausted();
	own->filter = (struct text_filter){ feed, end, destroy };
	own->arena = arena_new();
	own->stream = pii_stream_new(rule_in(own->arena, use->settings),
	    (size_t)value_get_int(use->settings, "stream_lookback", 0));
	return &own->filter;
}

const struct middleware middleware_pii = {
	.abi = MIDDLEWARE_ABI,
	.name = "pii",
	.summary = "hides private values in what users, models and tools say",
	.options = options,
	.configure = configure,
	.before_model = before_model,
	.after_model = after_model,
	.seal_outcome = seal_outcome,
	.seal_input = seal_input,
	.filter_tokens = filter_tokens,
};
