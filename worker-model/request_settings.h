/* request_settings: an agent's model_settings on their way into a provider's request. */
#ifndef REQUEST_SETTINGS_H
#define REQUEST_SETTINGS_H

#include "value.h"

/* A setting that does not go out under its own name. */
struct setting_name {
	const char *name;
	const char *sent_as; /* NULL: not sent */
};

/* Sets in fields what is sent of settings, and of the maps of further ones in it, model_kwargs and
 * extra_body: under the names that a dialect has for them (names, ended by one without a name), all others
 * as they are. What says how a request is made (timeouts, keys), and what is the request's own (model,
 * messages, tools), no dialect sends. */
void request_settings_add(struct value_fields *fields, const struct value *settings,
    const struct setting_name *names);

#endif
