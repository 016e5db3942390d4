/* a2a_card: an agent as Agent2Agent's clients find it: what it is, and where it is reached. */
#include <inttypes.h>
#include <string.h>

#include "assistant_find.h"
#include "blueprint.h"
#include "runs.h"

/* How we were called: behind a proxy it says by which scheme. */
static const char *
address_of(struct call *call, const char *id)
{
	const char *host = exchange_header(call->exchange, "Host");
	const char *scheme = exchange_header(call->exchange, "X-Forwarded-Proto");

	return arena_printf(call->arena, "%s://%s/a2a/%s",
	    scheme != NULL && strcmp(scheme, "https") == 0 ? "https" : "http",
	    host != NULL ? host : "localhost", runs_segment(call->arena, id));
}

static const struct value *
modes(struct arena *arena)
{
	const struct value *list[] = { VALUE_TEXT("text/plain"),
		VALUE_TEXT("application/json") };

	return value_array(arena, list, sizeof list / sizeof *list);
}

static const struct value *
one(struct arena *arena, const struct value *value)
{
	return value_array(arena, &value, 1);
}

/* What is to be shown is a key, where one is asked for: as 0.3 has it, and as 1.0. */
static const struct value *
with_security(struct call *call, const struct value *card)
{
	struct arena *arena = call->arena;
	const struct value *header = VALUE_TEXT("header"),
			   *name = VALUE_TEXT("X-Api-Key");
	const struct value *scheme = value_map(arena, "type", VALUE_TEXT("apiKey"), "in",
	    header, "name", name, "apiKeySecurityScheme",
	    value_map(arena, "location", header, "name", name, NULL), NULL);
	const struct value *none = value_map(arena, "list", value_empty_array(), NULL);

	if (!admit_wants_key(call->api))
		return card;
	return value_map_merge(arena, card,
	    value_map(arena, "securitySchemes", value_map(arena, "apiKey", scheme, NULL),
		"security",
		one(arena, value_map(arena, "apiKey", value_empty_array(), NULL)),
		"securityRequirements",
		one(arena, value_map(arena, "schemes",
			       value_map(arena, "apiKey", none, NULL), NULL)),
		NULL));
}

static const struct value *
interface_of(struct arena *arena, const struct value *url, const char *version)
{
	return value_map(arena, "url", url, "protocolBinding", VALUE_TEXT("JSONRPC"),
	    "protocolVersion", value_str(arena, version), NULL);
}

static const struct value *
interfaces(struct arena *arena, const struct value *url)
{
	const struct value *list[] = { interface_of(arena, url, "1.0"),
		interface_of(arena, url, "0.3") };

	return value_array(arena, list, sizeof list / sizeof *list);
}

/* Of an assistant that was made the number of its version is what tells it from others, of an agent what it was made of. */
static const struct value *
card_of(
    struct call *call, const struct assistant *assistant, const struct blueprint *read)
{
	struct arena *arena = call->arena;
	bool is_made = assistant_is_made(assistant);
	const char *text = assistant->description != NULL
			       ? assistant->description
			       : value_get_text(read->source, "description");
	const struct value *name = value_str(arena, assistant->name);
	const struct value *id = value_str(arena, assistant->id);
	const struct value *url = value_str(arena, address_of(call, assistant->id));
	const struct value *version =
	    is_made ? value_printf(arena, "%" PRIu64, assistant->version)
		    : value_str(arena, read->version);
	const struct value *description =
	    text != NULL ? value_str(arena, text)
			 : value_printf(arena, "the agent %s", read->name);

	/* `protocolVersion`, `url` and `preferredTransport` are 0.3's. */
	return value_map(arena, "protocolVersion", VALUE_TEXT("0.3.0"), "name", name,
	    "description", description, "version", version, "url", url,
	    "preferredTransport", VALUE_TEXT("JSONRPC"), "supportedInterfaces",
	    interfaces(arena, url), "capabilities",
	    value_map(arena, "streaming", value_bool(true), "pushNotifications",
		value_bool(false), "stateTransitionHistory", value_bool(false), NULL),
	    "defaultInputModes", modes(arena), "defaultOutputModes", modes(arena),
	    "skills",
	    one(arena, value_map(arena, "id", id, "name", name, "description",
			   description, "tags", value_empty_array(), NULL)),
	    NULL);
}

void
call_agent_card(struct call *call)
{
	const char *asked = exchange_query(call->exchange, "assistant_id");
	const char *name = call->params[0] != NULL ? call->params[0] : asked;
	struct assistant assistant;
	struct blueprint read;
	enum store_status status;

	if (name == NULL) {
		reply_error(call, 422,
		    "assistant_id: is missing; POST /assistants/search lists them");
		return;
	}
	if (!assistant_find_to_run(call, name, &assistant))
		return;
	status = blueprint_read(call, call->arena, assistant.agent, &read);
	if (status == STORE_OK)
		reply(call, 200, with_security(call, card_of(call, &assistant, &read)));
	else
		assistant_reply_failed(call, status, name);
}
