/* room_bench: how much of a worker's room a service has taken. */
#ifndef ROOM_BENCH_H
#define ROOM_BENCH_H

#include "arena.h"
#include "fleet_kit.h"
#include "value.h"

/* What the kit's broker knows of the service of that name, as `flotilla top` says it, in arena; NULL: nothing. */
const struct value *room_told(
    struct fleet_kit *kit, struct arena *arena, const char *service);
/* The same of one of several brokers. */
const struct value *room_told_by(
    struct fleet_kit *kit, struct arena *arena, unsigned broker, const char *service);

#endif
