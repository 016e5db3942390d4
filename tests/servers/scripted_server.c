/* scripted_server: tests/support/scripted_server.h as a program.
 *
 *	scripted-server [-p port] [-s script.json] [-f file]
 *
 * Writes its port to file (else to stdout), says READY=1, serves until SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>
#include <systemd/sd-daemon.h>

#include "arena.h"
#include "scripted_server.h"

_Noreturn static void
fail(const char *what, const char *why)
{
	fprintf(stderr, "scripted-server: %s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

static void
load(struct scripted_server *server, const char *path)
{
	struct arena *arena = arena_new();
	FILE *file = fopen(path, "re");
	char *text = NULL;
	const char *error;
	size_t room = 0;
	ssize_t size;

	if (file == NULL)
		fail(path, "cannot open");
	size = getdelim(&text, &room, '\0', file);
	if (size == -1)
		fail(path, "cannot read");
	if (scripted_server_load(server, arena, text, (size_t)size, &error) == -1)
		fail(path, error);
	free(text);
	fclose(file);
	arena_destroy(&arena);
}

static void
tell_port(uint16_t port, const char *path)
{
	FILE *file;

	if (path == NULL) {
		printf("%u\n", port);
		fflush(stdout);
		return;
	}
	file = fopen(path, "we");
	if (file == NULL || fprintf(file, "%u\n", port) < 0 || fclose(file) != 0)
		fail(path, "cannot write");
}

static void
on_signal(evutil_socket_t signal_number, short what, void *arg)
{
	(void)signal_number;
	(void)what;
	event_base_loopbreak(arg);
}

static void
serve(struct event_base *base)
{
	struct event *term = evsignal_new(base, SIGTERM, on_signal, base);
	struct event *interrupt = evsignal_new(base, SIGINT, on_signal, base);

	event_add(term, NULL);
	event_add(interrupt, NULL);
	sd_notify(0, "READY=1");
	event_base_dispatch(base);
	event_free(term);
	event_free(interrupt);
}

int
main(int argc, char *argv[])
{
	struct event_base *base = event_base_new();
	struct scripted_server *server;
	const char *script = NULL, *port_file = NULL;
	long port = 0;
	int option;

	while ((option = getopt(argc, argv, "p:s:f:")) != -1) {
		if (option == 'p')
			port = strtol(optarg, NULL, 10);
		else if (option == 's')
			script = optarg;
		else if (option == 'f')
			port_file = optarg;
		else
			fail("usage",
			    "scripted-server [-p port] [-s script.json] [-f file]");
	}
	signal(SIGPIPE, SIG_IGN);
	server = scripted_server_new(base, (uint16_t)port);
	if (server == NULL)
		fail("bind", "the port is taken");
	if (script != NULL)
		load(server, script);
	tell_port(scripted_server_port(server), port_file);
	serve(base);
	scripted_server_destroy(&server);
	event_base_free(base);
	libevent_global_shutdown();
	return EXIT_SUCCESS;
}
