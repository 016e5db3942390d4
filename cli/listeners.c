#include "listeners.h"

#include <stdlib.h>

#include "memory.h"

struct listeners {
	size_t count;
	struct socket *sockets[];
};

struct listeners *
listeners_new(struct session *session, socket_fn *fn, void *arg)
{
	const char *const *endpoints = session_statuses(session);
	struct listeners *listeners;
	const char *error;
	size_t count = 0;

	while (endpoints[count] != NULL)
		count++;
	listeners = xcalloc(1, sizeof *listeners + count * sizeof listeners->sockets[0]);
	for (; listeners->count < count; listeners->count++) {
		const char *endpoint = endpoints[listeners->count];
		struct socket *socket =
		    socket_sub(session_loop(session), endpoint, fn, arg, &error);

		if (socket == NULL) {
			complain("--status %s: %s", endpoint, error);
			listeners_destroy(&listeners);
			return NULL;
		}
		listeners->sockets[listeners->count] = socket;
	}
	return listeners;
}

void
listeners_destroy(struct listeners **listeners_p)
{
	struct listeners *listeners = *listeners_p;
	size_t i;

	if (listeners == NULL)
		return;
	for (i = 0; i < listeners->count; i++)
		socket_close(&listeners->sockets[i], 0);
	free(listeners);
	*listeners_p = NULL;
}

void
listeners_subscribe(struct listeners *listeners, const char *prefix)
{
	size_t i;

	for (i = 0; i < listeners->count; i++)
		socket_subscribe(listeners->sockets[i], prefix);
}

void
listeners_unsubscribe(struct listeners *listeners, const char *prefix)
{
	size_t i;

	for (i = 0; i < listeners->count; i++)
		socket_unsubscribe(listeners->sockets[i], prefix);
}
