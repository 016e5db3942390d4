#include "links.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "memory.h"
#include "service.h"
#include "socket.h"
#include "socket_watch.h"

#define PATIENCE_MS 3000u /* for a broker that is started behind us */

struct link {
	struct links *links;
	uint32_t index;
	char *endpoint;
	struct peer *peer;
};

struct links {
	struct links_options options;
	char session[SESSION_BYTES + 1];
	uint32_t count;
	link_set up, leaving; /* leaving: of those up */
	link_set known;       /* that have ever been up, or said why not */
	struct timer *patience;
	uint64_t identities[BROKERS_MAX];
	struct link links[BROKERS_MAX];
};

/* --- the peers' events ---------------------------------------------------------------- */

static void
on_up(void *arg)
{
	struct link *link = arg;
	struct links *links = link->links;

	links->up |= LINK_BIT(link->index);
	links->known |= LINK_BIT(link->index);
	links->leaving &= ~LINK_BIT(link->index);
	if (links->options.on_up != NULL)
		links->options.on_up(links->options.arg, link->index);
}

static void
on_down(void *arg, const char *reason)
{
	struct link *link = arg;
	struct links *links = link->links;

	links->up &= ~LINK_BIT(link->index);
	links->leaving &= ~LINK_BIT(link->index);
	if (links->options.on_down != NULL)
		links->options.on_down(links->options.arg, link->index, reason);
}

static void
on_leaving(void *arg, uint64_t ms)
{
	struct link *link = arg;
	struct links *links = link->links;

	links->leaving |= LINK_BIT(link->index);
	if (links->options.on_leaving != NULL)
		links->options.on_leaving(links->options.arg, link->index, ms);
}

static void
on_message(void *arg, const struct header *header, struct parts *bodies)
{
	struct link *link = arg;
	const struct links_options *options = &link->links->options;

	link->links->known |= LINK_BIT(link->index);
	if (options->on_message != NULL)
		options->on_message(options->arg, link->index, header, bodies);
}

static void
on_ping(void *arg, struct header *header)
{
	struct link *link = arg;
	const struct links_options *options = &link->links->options;

	if (options->on_ping != NULL)
		options->on_ping(options->arg, header);
}

/* An address with a typing error looks like a broker that is still to come. */
static void
say_unknown(void *arg)
{
	struct links *links = arg;
	uint32_t i;

	timer_stop(&links->patience);
	for (i = 0; i < links->count; i++)
		if ((links->known & LINK_BIT(i)) == 0 &&
		    !socket_is_inside(links->links[i].endpoint) &&
		    !socket_watch_refused(links->links[i].endpoint))
			log_warnx("no broker answers yet, waits for it endpoint=%s",
			    links->links[i].endpoint);
}

/* --- life ----------------------------------------------------------------------------- */

/* Returns how many there are, or 0 with what is wrong. */
static uint32_t
check_endpoints(
    const char *const *endpoints, const char **wrong_r, const char **allowed_r)
{
	uint32_t count, i;

	for (count = 0; endpoints[count] != NULL; count++) {
		*wrong_r = endpoints[count];
		if (count == BROKERS_MAX) {
			*allowed_r = "one of at most 16 brokers";
			return 0;
		}
		for (i = 0; i < count; i++) {
			if (strcmp(endpoints[i], endpoints[count]) == 0) {
				*allowed_r = "named once";
				return 0;
			}
		}
	}
	if (count == 0) {
		*wrong_r = "";
		*allowed_r = "at least one broker's endpoint";
	}
	return count;
}

/* Returns 0, or -1 when endpoint is none. */
static int
connect_link(struct links *links, struct loop *loop, const char *endpoint)
{
	const struct links_options *options = &links->options;
	struct link *link = &links->links[links->count];
	const struct peer_options peer_options = {
		.endpoint = endpoint,
		.session = links->session,
		.role = options->role,
		.name = options->name,
		.services = options->services,
		.service_count = options->service_count,
		.capacity = options->capacity,
		.catalog = options->catalog,
		.on_up = on_up,
		.on_down = on_down,
		.on_leaving = on_leaving,
		.on_message = on_message,
		.on_ping = options->on_ping == NULL ? NULL : on_ping,
		.arg = link,
	};

	link->links = links;
	link->index = links->count;
	link->peer = peer_new(loop, &peer_options);
	if (link->peer == NULL)
		return -1;
	link->endpoint = xstrdup(endpoint);
	links->identities[links->count++] = rendezvous_identity(endpoint);
	return 0;
}

struct links *
links_new(struct loop *loop, const struct links_options *options, const char **wrong_r,
    const char **allowed_r)
{
	uint32_t count = check_endpoints(options->endpoints, wrong_r, allowed_r), i;
	struct links *links;

	if (count == 0)
		return NULL;
	links = xcalloc(1, sizeof *links);
	links->options = *options;
	if (options->session != NULL)
		memcpy(links->session, options->session, SESSION_BYTES);
	else
		service_session(links->session);
	for (i = 0; i < count; i++) {
		if (connect_link(links, loop, options->endpoints[i]) == -1) {
			*wrong_r = options->endpoints[i];
			*allowed_r = "an endpoint: tcp://HOST:PORT or ipc://PATH";
			links_destroy(&links);
			return NULL;
		}
	}
	links->patience = timer_start(loop, PATIENCE_MS, 0, say_unknown, links);
	return links;
}

void
links_destroy(struct links **links_p)
{
	struct links *links = *links_p;
	uint32_t i;

	if (links == NULL)
		return;
	timer_stop(&links->patience);
	for (i = 0; i < links->count; i++) {
		peer_destroy(&links->links[i].peer);
		free(links->links[i].endpoint);
	}
	free(links);
	*links_p = NULL;
}

/* --- questions ------------------------------------------------------------------------ */

uint32_t
links_count(const struct links *links)
{
	return links->count;
}

const uint64_t *
links_identities(const struct links *links)
{
	return links->identities;
}

const char *
links_endpoint(const struct links *links, uint32_t link)
{
	return links->links[link].endpoint;
}

void
links_log_lost(const struct links *links, uint32_t link, const char *reason)
{
	const char *endpoint = links_endpoint(links, link);

	if (socket_is_inside(endpoint))
		log_info("broker gone: %s endpoint=%s", reason, endpoint);
	else
		log_warnx("broker lost: %s endpoint=%s", reason, endpoint);
}

bool
links_is_up(const struct links *links, uint32_t link)
{
	return (links->up & LINK_BIT(link)) != 0;
}

/* A broker that leaves still publishes, but its listeners go. */
uint32_t
links_of_run(const struct links *links, const char *run)
{
	link_set usable = links->up & ~links->leaving;

	return rendezvous_choose(
	    links->identities, usable != 0 ? usable : links->up, run);
}

/* --- sending -------------------------------------------------------------------------- */

int
links_send(
    struct links *links, uint32_t link, const struct header *header, struct parts *bodies)
{
	if (link < links->count)
		return peer_send(links->links[link].peer, header, bodies);
	if (bodies != NULL)
		parts_release(bodies);
	return -1;
}

bool
links_wants(const struct links *links, uint32_t link, const char *topic)
{
	return link < links->count && peer_wants(links->links[link].peer, topic);
}

void
links_publish(
    struct links *links, const char *run, const char *topic, const struct value *value)
{
	uint32_t link = links_of_run(links, run);

	if (link != LINK_NONE)
		peer_publish(links->links[link].peer, topic, value);
}

void
links_set_services(struct links *links, const struct wire_service *services,
    size_t service_count, const struct value *catalog)
{
	uint32_t i;

	for (i = 0; i < links->count; i++)
		peer_set_services(links->links[i].peer, services, service_count, catalog);
}
