/* watch_all: everything that happens in the fleet, from the status channel. */
#ifndef WATCH_ALL_H
#define WATCH_ALL_H

#include "command.h"

/* Prints what is published until Ctrl-C. */
enum status watch_all(struct session *session);

#endif
