/* session: a command's connections, made when first asked for.
 *
 * Where the fleet is: flags, then FLOTILLA_* variables, then `.flotilla/fleet.json` of
 * this folder or one above it (written by `flotilla up`), then the defaults. */
#ifndef SESSION_H
#define SESSION_H

#include "loop.h"
#include "socket.h"
#include "store.h"
#include "value.h"

struct session;
struct common_settings;

struct session *session_new(struct loop *loop, const struct common_settings *settings);
void session_destroy(struct session **session_p);

/* Switches keys on, those of the settings or of the fleet of this folder, where there are
 * any. Returns 0, or -1 after saying why not. */
int session_open_keys(struct session *session, const struct common_settings *settings);

struct loop *session_loop(struct session *session);
/* Memory for the whole command. */
struct arena *session_arena(struct session *session);
bool session_json(const struct session *session);

/* The store; waits for Redis as long as a step of it does, 3 s at least. Says so on stderr and returns NULL when
 * it is not there. */
struct store *session_store(struct session *session);
/* How long each of its steps waits for a Redis that has gone, unless it is said before: 3 s. */
void session_wait_for_redis(struct session *session, uint64_t ms);
/* A second store on a connection of its own, for waiting reads. */
struct store *session_events_store(struct session *session);

/* Endpoints as resolved. */
const char *session_redis(struct session *session);
/* The same for messages: without its password. */
const char *session_redis_shown(struct session *session);
const char *const *session_brokers(struct session *session);  /* NULL-ended */
const char *const *session_statuses(struct session *session); /* NULL-ended */
/* The same in one text, for people. */
const char *session_join(struct session *session, const char *const *endpoints);

/* For `up`: the fleet is the one it has started; later, lets go of its Redis. */
struct fleet_file;
void session_at(struct session *session, const struct fleet_file *fleet);
void session_disconnect(struct session *session);

/* Reads what is known of models: the file given (--models), else that of the fleet of this folder,
 * if it has one. Returns an exit status, having said why not. */
int session_load_models(struct session *session, const char *given);

/* Loads shared objects with middleware (--plugin; NULL-ended, or NULL). Returns as above. */
int session_load_plugins(const char *const *plugins);

/* True once Ctrl-C was pressed, and the running fiber cancelled; or when nobody reads stdout
 * any more. */
bool session_interrupted(const struct session *session);

/* Prints "flotilla: ..." on stderr; what is no text in it, or would drive the terminal, is replaced. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What to do about error, which is what Redis said, in brackets behind a space; or "". */
const char *session_remedy(const char *error);

/* Says why a step of session_store failed; returns the exit status for it. */
int session_store_failed(struct session *session, enum store_status status);
/* The same of session_events_store, and of either. */
int session_events_failed(struct session *session, enum store_status status);
int session_step_failed(const struct store *store, enum store_status status);

#endif
