#include "redis_greeting.h"

#include <string.h>

#include "redis_reply.h"

/* ROLE answers ["master", ...] or ["slave", host, port, ...]. */
static enum redis_greeted
judge_role(struct arena *arena, const struct value *role, const char **reason_r)
{
	const char *word = redis_reply_text(value_at(role, 0));
	const char *host = redis_reply_text(value_at(role, 1));

	if (word == NULL || strcmp(word, "slave") != 0)
		return GREETED_WELL;
	*reason_r =
	    arena_printf(arena, "is a replica (of %s)", host != NULL ? host : "nobody");
	return GREETED_BADLY;
}

/* Whose answers are others, or come at other questions' places, is no Redis: an echo, say, as a socket is that was
 * connected to itself. */
static enum redis_greeted
judge_pong(const struct value *pong, const char **reason_r)
{
	const char *word = redis_reply_text(pong);

	if (word != NULL && strcmp(word, "PONG") == 0)
		return GREETED_WELL;
	*reason_r = "it does not answer as Redis does";
	return GREETED_BADLY;
}

/* A command that it does not know Redis repeats with what came behind it: a password, our library. */
static const char *
without_arguments(struct arena *arena, const char *error)
{
	const char *arguments = strstr(error, ", with args beginning with");

	return arguments == NULL ? error
				 : arena_copy(arena, error, (size_t)(arguments - error));
}

static enum redis_greeted
judge_error(enum redis_own own, const char *error)
{
	enum redis_verdict verdict = redis_reply_verdict(error);

	/* What is said to all who come, before anything was asked, answers the first question: that there are too many
	 * clients is no word on a password. */
	if ((own == OWN_AUTH && verdict != REDIS_AGAIN) ||
	    strncmp(error, "NOAUTH", 6) == 0 || strncmp(error, "DENIED", 6) == 0)
		return GREETED_DENIED;
	/* Who may not ask for the role finds out by READONLY; who may not load the library
	 * may find it loaded. */
	if (own == OWN_ROLE && verdict != REDIS_AGAIN)
		return GREETED_WELL;
	if (verdict == REDIS_REFUSED)
		return own == OWN_SELECT ? GREETED_BADLY : GREETED_REFUSED;
	return GREETED_BADLY;
}

enum redis_greeted
redis_greeting_judge(struct arena *arena, enum redis_own own, const struct value *reply,
    bool is_error, const char **reason_r)
{
	if (is_error) {
		*reason_r = without_arguments(arena, value_text(reply));
		return judge_error(own, *reason_r);
	}
	if (own == OWN_PING)
		return judge_pong(reply, reason_r);
	return own == OWN_ROLE ? judge_role(arena, reply, reason_r) : GREETED_WELL;
}
