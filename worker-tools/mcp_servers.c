/* All MCP servers of a worker. */
#include "mcp_private.h"

#include <stdlib.h>

#include "fiber.h"
#include "log.h"
#include "memory.h"

static void
start(struct mcp_servers *servers, struct tool_source *source,
    const struct mcp_options *options)
{
	struct mcp_server *server = xcalloc(1, sizeof *server);

	server->home = servers;
	server->source = tool_source_hold(source);
	server->options = options;
	server->holders = 1;
	server->tools = value_empty_array();
	TAILQ_INIT(&server->waiters);
	server->keeper = fiber_start(servers->loop, "mcp", mcp_keep, server);
	if (server->keeper == NULL) {
		log_warnx("mcp=%s there is no room for its fiber", options->name);
		mcp_free(server);
		return;
	}
	servers->keepers++;
	TAILQ_INSERT_TAIL(&servers->list, server, link);
}

struct mcp_servers *
mcp_servers_new(
    struct loop *loop, struct http *http, void (*on_change)(void *arg), void *arg)
{
	struct mcp_servers *servers = xcalloc(1, sizeof *servers);

	servers->loop = loop;
	servers->http = http;
	servers->on_change = on_change;
	servers->arg = arg;
	TAILQ_INIT(&servers->list);
	return servers;
}

static struct mcp_server *
find_equal(struct mcp_servers *servers, const struct mcp_options *options)
{
	struct mcp_server *server;

	TAILQ_FOREACH(server, &servers->list, link)
		if (mcp_options_equal(server->options, options))
			return server;
	return NULL;
}

void
mcp_servers_follow(struct mcp_servers *servers, struct tool_source *source)
{
	TAILQ_HEAD(, mcp_server) old = TAILQ_HEAD_INITIALIZER(old);
	const struct mcp_options *const *options;
	struct mcp_server *server;

	/* Those that stay go over in source's order; what is left of the list goes. */
	for (options = source->servers; *options != NULL; options++) {
		server = find_equal(servers, *options);
		if (server == NULL)
			continue;
		TAILQ_REMOVE(&servers->list, server, link);
		TAILQ_INSERT_TAIL(&old, server, link);
	}
	while ((server = TAILQ_FIRST(&servers->list)) != NULL) {
		TAILQ_REMOVE(&servers->list, server, link);
		mcp_server_release(&server);
	}
	for (options = source->servers; *options != NULL; options++) {
		server = TAILQ_FIRST(&old);
		if (server == NULL || !mcp_options_equal(server->options, *options)) {
			start(servers, source, *options);
			continue;
		}
		TAILQ_REMOVE(&old, server, link);
		TAILQ_INSERT_TAIL(&servers->list, server, link);
	}
}

bool
mcp_servers_are_settled(void *arg)
{
	const struct mcp_servers *servers = arg;
	const struct mcp_server *server;

	TAILQ_FOREACH(server, &servers->list, link)
		if (server->state == MCP_TRYING)
			return false;
	return true;
}

static bool
have_ended(void *arg)
{
	const struct mcp_servers *servers = arg;

	return servers->keepers == 0;
}

void
mcp_servers_destroy(struct mcp_servers **servers_p)
{
	struct mcp_servers *servers = *servers_p;
	struct mcp_server *server;

	*servers_p = NULL;
	if (servers == NULL)
		return;
	while ((server = TAILQ_FIRST(&servers->list)) != NULL) {
		TAILQ_REMOVE(&servers->list, server, link);
		mcp_server_release(&server);
	}
	loop_run_until(servers->loop, have_ended, servers);
	free(servers);
}

struct mcp_server *
mcp_servers_next(struct mcp_servers *servers, const struct mcp_server *server)
{
	return server == NULL ? TAILQ_FIRST(&servers->list) : TAILQ_NEXT(server, link);
}
