/* kit_tls: a fleet_kit whose Redis speaks TLS as well, and wants certificates of its clients. */
#ifndef KIT_TLS_H
#define KIT_TLS_H

#include "arena.h"
#include "fleet_kit.h"

/* Makes certificates, and gives Redis a port with them, which it returns, in arena. Before Redis is started;
 * of one without a replica. */
const char *kit_have_tls(struct fleet_kit *kit, struct arena *arena);

/* The URL by that port, as user, "NAME:PASSWORD@" or "", in arena. */
const char *kit_tls_url(
    struct fleet_kit *kit, struct arena *arena, const char *port, const char *user);

#endif
