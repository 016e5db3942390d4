/* agent_file: agents in files, and names of agents checked against the fleet's. */
#ifndef AGENT_FILE_H
#define AGENT_FILE_H

#include "session.h"

/* Loads, checks and applies every agent of the file, or of the folder's .yaml and .yml
 * files. comment goes into their
 * logs, or NULL. Prints one line each unless quiet. first_r, if given: the first agent's name.
 * Returns an exit status: the last one that was not good. */
int agent_file_apply(struct session *session, const char *path, const char *comment,
    bool quiet, const char **first_r);

/* "ann@host": who applies something here. */
const char *agent_applied_by(struct arena *arena);

/* True when text names a file rather than an agent: it has a '/' or ends in .yaml, .yml,
 * .json. */
bool agent_is_file(const char *text);

/* The current version of agent name. Returns STATUS_OK, or says why not (with the nearest
 * name) and returns STATUS_NOT_FOUND or STATUS_UNREACHABLE. */
int agent_version(struct session *session, const char *name, const char **version_r);

#endif
