/* agents: what `flotilla agents VERB` does with versions. */
#ifndef CLI_AGENTS_H
#define CLI_AGENTS_H

#include "command.h"

struct agents_settings {
	struct common_settings common;
	const char **plugins;
	const char *models;
	const char *comment;
};

/* Each takes what follows the verb, NULL-ended. */
enum status agents_show(struct session *session, const struct agents_settings *settings,
    const char *const *rest);
enum status agents_history(struct session *session,
    const struct agents_settings *settings, const char *const *rest);
enum status agents_diff(struct session *session, const struct agents_settings *settings,
    const char *const *rest);
enum status agents_rollback(struct session *session,
    const struct agents_settings *settings, const char *const *rest);
enum status agents_delete(struct session *session, const struct agents_settings *settings,
    const char *const *rest);

#endif
