/* permits: what a peer may say beyond what its role may: by its key, by the calls it has, by
 * its name. docs/security.md tells it from the outside.
 *
 * Where there is no allow list only the topics are looked at: all peers are trusted. What a
 * key does not allow is answered so that an honest peer whose rights were taken away ends
 * its errand, instead of sending it again for ever. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "permits.h"

#include "bodies.h"
#include "memory.h"
#include "tables.h"

#define PARENT_END '/' /* "<id of the call that makes it>/..." */
#define STEP_MARK '.'  /* "<run>.<step>.<number>": a coordinator's */

static const char *deny(struct core *core, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *
deny(struct core *core, const char *format, ...)
{
	va_list args;

	COUNT(core, denied);
	va_start(args, format);
	vsnprintf(core->denied, sizeof core->denied, format, args);
	va_end(args);
	return core->denied;
}

/* What a key must allow to serve or to call service. Of those that mean what `tools` means no key knows. */
static const char *
right_of(const char *service)
{
	return pin_is(service) || strcmp(service, SERVICE_WRAPS) == 0 ? SERVICE_TOOLS
								      : service;
}

/* A coordinator's key serves long-term memory as well, and nothing else. */
static bool
may_serve(const struct rights *rights, const char *service)
{
	const struct allow_entry *entry = rights->entry;

	return ((entry->roles & 1u << ROLE_WORKER) != 0 &&
		   allow_matches(entry->services, right_of(service))) ||
	       ((entry->roles & 1u << ROLE_COORDINATOR) != 0 &&
		   strcmp(service, SERVICE_STORE) == 0);
}

static bool
may_be(const struct rights *rights, enum wire_role role)
{
	unsigned roles = rights->entry->roles;

	if (role == ROLE_WORKER && (roles & 1u << ROLE_COORDINATOR) != 0)
		return true;
	return (roles & 1u << role) != 0;
}

/* --- sessions --------------------------------------------------------------------------- */

/* Why rights do not admit a session of this role and these services, or NULL. */
static const char *
why_not(struct core *core, const struct rights *rights, enum wire_role role,
    const struct wire_service *services, size_t count)
{
	size_t i;

	if (rights == NULL)
		return deny(core, "this key is not on the broker's allow list");
	if (!may_be(rights, role))
		return deny(core, "this key does not allow the role %s",
		    wire_role_name((unsigned)role));
	for (i = 0; i < count; i++)
		if (!may_serve(rights, services[i].name))
			return deny(core, "this key does not allow to serve %s",
			    services[i].name);
	return NULL;
}

const char *
permit_hello(struct core *core, const struct message *message,
    const struct session *session, enum wire_code *code_r)
{
	const struct header *hello = message->header;
	const struct rights *rights;
	const char *reason;

	*code_r = CODE_DENIED;
	if (core->book == NULL)
		return NULL;
	rights = rights_find(core->book, message->key);
	reason = why_not(core, rights, (enum wire_role)hello->role, hello->services,
	    hello->service_count);
	if (reason != NULL)
		return reason;
	if (session != NULL)
		return strcmp(session->rights->entry->key, message->key) == 0
			   ? NULL
			   : deny(core, "this session belongs to another key");
	*code_r = CODE_LIMIT;
	return rights->sessions < rights->entry->sessions_max
		   ? NULL
		   : deny(
			 core, "the key '%s' has too many sessions", rights->entry->name);
}

void
rights_take(struct core *core, struct session *session, const char *key)
{
	if (core->book == NULL)
		return;
	session->rights = rights_find(core->book, key);
	session->rights->sessions++;
}

void
rights_give_back(struct session *session)
{
	if (session->rights != NULL)
		session->rights->sessions--;
	session->rights = NULL;
}

/* Others may be turned away in the same step, for other reasons: each keeps its own until the step's
 * actions are done. */
static void
revoke(struct core *core, struct session *session, const char *reason)
{
	const struct header header = { .type = MSG_ERROR,
		.code = CODE_DENIED,
		.reason = session->revoked = xstrdup(reason) };

	COUNT(core, sessions_lost);
	send_to(core, session, &header, NULL);
	session_end(core, session, "its key no longer allows it");
}

void
rights_change(struct core *core, struct rights_book *book)
{
	struct session *session, *next;
	const char *reason;

	core->book = book;
	for (session = TAILQ_FIRST(&core->heard); session != NULL; session = next) {
		const char *key =
		    session->rights == NULL ? NULL : session->rights->entry->key;
		struct rights *rights = rights_find(book, key);

		next = TAILQ_NEXT(session, heard_link);
		reason = why_not(
		    core, rights, session->role, session->services, session->offer_count);
		rights_give_back(session);
		if (reason != NULL) {
			revoke(core, session, reason);
			continue;
		}
		session->rights = rights;
		rights->sessions++;
	}
}

/* --- calls of its own --------------------------------------------------------------------- */

/* A worker asks for something only inside of a call that it has: the id begins with that
 * call's. One that this broker does not know came to it by another broker. A run's id may
 * have slashes, too; a coordinator's call id has dots behind the last: those are not a
 * worker's, whatever stands before. */
static bool
is_beneath(const struct core *core, const struct session *worker, const char *id)
{
	const char *end = strrchr(id, PARENT_END);
	char parent[ID_BYTES_MAX + 1];
	const struct call *call;

	if (end == NULL || strchr(end, STEP_MARK) != NULL)
		return false;
	memcpy(parent, id, (size_t)(end - id));
	parent[end - id] = '\0';
	call = call_find(core, parent);
	return call == NULL || (call->state == CALL_ASSIGNED && call->worker == worker);
}

static bool
is_of_tenant(const struct rights *rights, const char *tenant)
{
	return rights->entry->tenant == NULL ||
	       (tenant != NULL && strcmp(rights->entry->tenant, tenant) == 0);
}

bool
permit_asker(struct core *core, const struct session *session, const struct call *call,
    const char *id)
{
	bool allowed = true;

	if (session->rights == NULL)
		return true;
	if (session->role == ROLE_WORKER)
		allowed = is_beneath(core, session, id) ||
			  (call != NULL && call->requester == session);
	if (call != NULL && call->asked)
		allowed = allowed && is_of_tenant(session->rights, call->header.tenant);
	if (!allowed)
		COUNT(core, denied);
	return allowed;
}

const char *
permit_call(struct core *core, const struct message *message, const struct call *call)
{
	const struct session *session = message->session;
	const struct header *header = message->header;

	if (session->rights == NULL)
		return NULL;
	if (!allow_matches(session->rights->entry->calls, right_of(header->service)))
		return deny(core, "this key does not allow to call %s", header->service);
	if (header->tenant != NULL && !is_of_tenant(session->rights, header->tenant))
		return deny(
		    core, "this key does not allow the tenant %s", header->tenant);
	if (!permit_asker(core, session, call, header->call_id))
		return "this key does not allow to touch this call";
	return NULL;
}

const char *
rights_tenant(const struct session *session, const struct header *header)
{
	if (header->tenant != NULL || session->rights == NULL)
		return header->tenant;
	return session->rights->entry->tenant;
}

/* --- answers ------------------------------------------------------------------------------ */

/* Of a session's id, which is random, enough to know it again. */
uint64_t
holder_of(const struct session *session)
{
	char digits[SESSION_BYTES / 2 + 1] = { 0 };
	uint64_t last = strtoull(session->id + SESSION_BYTES / 2, NULL, 16);

	memcpy(digits, session->id, sizeof digits - 1);
	return strtoull(digits, NULL, 16) ^ last;
}

void
holder_note(struct call *call, const struct session *worker)
{
	if (call->holder_count == CALL_HOLDERS_MAX) {
		call->fresh = false; /* one is forgotten: not all are known any more */
		call->holder_count = 0;
	}
	call->holders[call->holder_count++] = holder_of(worker);
}

static bool
has_held(const struct call *call, const struct session *worker)
{
	uint64_t holder = holder_of(worker);
	unsigned i;

	for (i = 0; i < call->holder_count; i++)
		if (call->holders[i] == holder)
			return true;
	return false;
}

/* Of a call that came to us first we know every worker that had it. One that was sent
 * before may have come to a worker by another broker: there the key's services decide. A
 * call nobody has asked for yet is its announcer's. */
bool
permit_answer(struct core *core, const struct session *worker, const struct call *call)
{
	bool allowed;

	if (worker->rights == NULL)
		return true;
	if (!call->asked)
		allowed = call->state != CALL_ASSIGNED || call->worker == worker;
	else
		allowed = may_serve(worker->rights, call->header.service) &&
			  pin_allows(worker, call->header.service) &&
			  (!call->fresh || has_held(call, worker));
	if (!allowed)
		COUNT(core, denied);
	return allowed;
}

void
teller_note(struct call *call, const struct session *worker)
{
	if (worker->rights != NULL)
		memcpy(call->teller, worker->rights->entry->key, sizeof call->teller);
}

bool
permit_teller(struct core *core, const struct call *call, const char *service)
{
	const struct rights *rights;

	if (core->book == NULL || call->asked)
		return true;
	rights = rights_find(core->book, call->teller);
	if (rights != NULL && may_serve(rights, service))
		return true;
	COUNT(core, denied);
	return false;
}

/* --- the status channel --------------------------------------------------------------------- */

static bool
begins_with(const char **topic, const char *text)
{
	size_t size = strlen(text);

	if (strncmp(*topic, text, size) != 0 || (*topic)[size] != '.')
		return false;
	*topic += size + 1;
	return **topic != '\0';
}

/* "worker.<its own name>.<what>"; a coordinator speaks of runs and their ends, too. */
const char *
permit_event(struct core *core, const struct session *session, const char *topic)
{
	const char *at = topic;

	if (begins_with(&at, wire_role_name((unsigned)session->role)) &&
	    begins_with(&at, session->name))
		return NULL;
	at = topic;
	if (session->role == ROLE_COORDINATOR &&
	    (begins_with(&at, "run") || begins_with(&at, "ended")))
		return NULL;
	return deny(core, "the topic %s is not for this peer", topic);
}

/* A worker's word must not look like its run's coordinator's. */
static bool
is_coordinators(const char *topic)
{
	static const char *const kinds[] = { "started", "step", "debug", "interrupted",
		"decided", "uncertain", "copied", "finished", "webhook", "queued",
		"delayed", "child" };
	const char *kind = strrchr(topic, '.') + 1;
	size_t i;

	for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

bool
permit_progress(const struct session *worker, const struct call *call, const char *topic)
{
	const char *at = topic;

	return call != NULL && call->asked && call->state == CALL_ASSIGNED &&
	       call->worker == worker && begins_with(&at, "run") &&
	       begins_with(&at, call->header.run == NULL ? "-" : call->header.run) &&
	       !is_coordinators(topic);
}
