/* thread_find: whether there is a thread. */
#ifndef THREAD_FIND_H
#define THREAD_FIND_H

#include "api.h"

/* Returns false after answering that there is no such thread. */
bool thread_is_there(struct call *call, const char *name);
/* Answers that. */
void thread_reply_none(struct call *call, const char *name);

#endif
