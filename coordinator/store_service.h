/* store_service: long-term memory for workers, who never touch Redis: this process as a worker of
 * its own brokers that serves `store`. */
#ifndef STORE_SERVICE_H
#define STORE_SERVICE_H

#include "coordinator.h"

struct store_service;

/* Returns new; greets the brokers in a session of its own, as "<name>-store". */
struct store_service *store_service_new(struct coordinator *coordinator);

/* Takes no more and ends what runs; then done(arg). */
void store_service_drain(
    struct store_service *service, void (*done)(void *arg), void *arg);
/* Takes *service_p, drained or without a call. */
void store_service_destroy(struct store_service **service_p);

#endif
