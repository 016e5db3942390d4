/* fleet_launch: how each party is started: its program, arguments, environment. */
#ifndef FLEET_LAUNCH_H
#define FLEET_LAUNCH_H

#include "fleet.h"

/* Writes the proxy's configuration: all links that the parties need. */
void launch_configure_proxy(struct fleet *fleet);

/* The port of a link, 0 when there is none. */
unsigned launch_port(struct fleet *fleet, const char *link);

/* A port that nobody listens at: whoever gets it has the same when he is started again. */
unsigned launch_free_port(void);

/* Returns party's new child, which will say READY=1. */
struct child *launch_party(struct party *party);

#endif
