/* notice: what the broker itself publishes and logs of its peers: up, down, stuck, moves. */
#ifndef NOTICE_H
#define NOTICE_H

#include "status.h"
#include "wire.h"

/* header as ACTION_NOTICE has it: role, name, topic (the kind), session, reason, ... */
void notice_send(struct status *status, const struct header *header);

#endif
