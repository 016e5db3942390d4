/* hub: a broker and a coordinator in one process, on one loop.
 *
 * Both are what they are apart (broker.h, coordinator.h), and talk as they do apart, by ZeroMQ and
 * docs/protocol.md, but over inproc://: no thread of libzmq's in between, no system call that moves bytes. Two
 * of the four messages of a call go that way. Who connects from outside, workers, other coordinators, the
 * command line, does not see a difference.
 *
 * What it gives up: they die together, and are ended and updated together. A worker then waits for the next
 * broker at that place with what it has, and the runs are found again by the next coordinator: what either of
 * them leaves alone, it leaves here. A hook in the coordinator that computes holds up the broker.
 *
 * One hub a fleet, and no broker beside it: all of a run's calls take the one broker that everybody who knows
 * the run would choose (peer/rendezvous.h), and the coordinator inside knows this one alone.
 *
 * Keys (docs/security.md): who is inside has the process's own key, and may what the allow list says of it. At
 * the start that must be the role coordinator. */
#ifndef HUB_H
#define HUB_H

#include "hub_settings.h"

struct hub;

/* Returns a new hub, which keeps both. Ends the process with a message when a setting is wrong. */
struct hub *hub_new(struct service *service, struct hub_settings *settings);

/* Takes *hub_p, after the service has ended. */
void hub_destroy(struct hub **hub_p);

/* For service_run, arg is the hub: the broker gives back what no worker has begun, the coordinator its runs; calls under
 * way are left to their workers, which bring what becomes of them to the next broker. */
void hub_drain(void *arg);

#endif
