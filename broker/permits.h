/* permits: who may do what, by the rights of the key that a session has shown (rights.h), and who may answer a call. */
#ifndef PERMITS_H
#define PERMITS_H

#include "tables.h"

/* Reasons are lent for the step; NULL: it is allowed. What is not is counted. */

/* session: the one that is known by the id, or NULL. code_r: for the refusal. */
const char *permit_hello(struct core *core, const struct message *message,
    const struct session *session, enum wire_code *code_r);
/* Gives a new session the rights of the key that permit_hello has looked at, and back. */
void rights_take(struct core *core, struct session *session, const char *key);
void rights_give_back(struct session *session);
/* Another list: sessions that it does not admit end, their workers' calls go to others. */
void rights_change(struct core *core, struct rights_book *book);

/* Whether message's sender may make this CALL; call: the known one of that id, or NULL. */
const char *permit_call(
    struct core *core, const struct message *message, const struct call *call);
/* Whether session may say what becomes of the call of this id, as who asked for it. */
bool permit_asker(struct core *core, const struct session *session,
    const struct call *call, const char *id);
/* To whom a CALL counts: what it says, else the key's. */
const char *rights_tenant(const struct session *session, const struct header *header);

/* Whether worker may answer call, or claim to have it; and who has had it. */
bool permit_answer(
    struct core *core, const struct session *worker, const struct call *call);
/* Returns the number a worker's process is known by here. */
uint64_t holder_of(const struct session *session);
void holder_note(struct call *call, const struct session *worker);
/* Of a call that nobody has asked for yet: who told of it, and whether that one may serve
 * what it turns out to be. */
void teller_note(struct call *call, const struct session *worker);
bool permit_teller(struct core *core, const struct call *call, const char *service);

const char *permit_event(
    struct core *core, const struct session *session, const char *topic);
bool permit_progress(
    const struct session *worker, const struct call *call, const char *topic);

#endif
