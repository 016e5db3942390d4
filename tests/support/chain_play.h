/* chain_play: backends for tests of the chains that play outcomes and note what they saw. */
#ifndef CHAIN_PLAY_H
#define CHAIN_PLAY_H

#include "chain.h"
#include "hook_stub.h"

#define PLAY_OUTCOMES_MAX 16u

/* The end of a chain, call by call. NULL: of a model "ok", of a tool its argument `a`.
 * "!Type text" is a fault, "-" nothing at all, "?text" (tools) asks a human and answers with the
 * answer, "none" (tools) that there is no such tool;
 * else the text of a model's message or ("{...") a literal of one, the update of a tool's
 * command (a literal). */
struct play {
	struct arena *arena;
	const struct value *profile, *request;
	const char *outcomes[PLAY_OUTCOMES_MAX];
	size_t count;
	/* What tools get for their calls of models; may be NULL. */
	const struct value *(*call_model)(
	    void *arg, struct tool_request *request, const struct value *wish);
	/* The one that gives structured output by itself, though not beside tools. */
	const char *capable;
	uint64_t left_ms; /* of the call's time; 0: it has no end */
	/* The last call. */
	const struct value *seen; /* models: every field of the request */
	const char *tag;
	unsigned attempt;
	const char *ran; /* tools: "name id" */
};

/* Runs the whole chain; both return the RESULT body. */
const struct value *play_model(struct play *play, const struct chain *chain);
const struct value *play_tool(struct play *play, const struct chain *chain);

#endif
