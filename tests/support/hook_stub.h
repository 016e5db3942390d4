/* hook_stub: a middleware whose wraps do what its settings say, for tests of the chains:
 * the runner and the accessors are real.
 *
 * settings of a wrap: calls (how often it calls the rest; 1), response (a message or a
 * text: the answer when calls is 0), catch (the answer when the rest fails), raise
 * {type, message} (fails itself, first), remake (true: answers a fault with a fault of
 * its own), suffix (behind the content), update, override ([[field, value], ...]),
 * nothing (true: returns NULL), command (of a model's wrap), goto (with update, of a tool's), asks, asks_after ([question], in front of the rest and behind it;
 * the log tells the answers). */
#ifndef HOOK_STUB_H
#define HOOK_STUB_H

#include "chain.h"

extern const struct middleware hook_stub;

/* Returns a use of hook_stub with wraps and modify_model_request on as the settings'
 * `hooks` ([name]) says. */
const struct middleware_use *stub_use(
    struct arena *arena, const char *name, const char *settings);

/* Returns a chain of the uses up to the NULL. Its trace goes to stub_log. */
struct chain *stub_chain(struct arena *arena, ...);

/* What ran, "A> B> send B< A<", since stub_log_clear. */
const char *stub_log(void);
void stub_log_clear(void);
void stub_log_add(const char *text);

/* The AI message text of a RESULT body of a model call, or the tool message's of a tool
 * call; "fault: type: message" of a fault. */
const char *stub_outcome(struct arena *arena, const struct value *body);

#endif
