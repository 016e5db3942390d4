/* proxy: the network between the parties of a fleet under attack.
 *
 *	chaos-proxy CONFIGURATION PORTS CONTROL
 *
 * CONFIGURATION has a line "NAME ADDRESS TARGET" for each link (parts/link.h). The ports it
 * listens on are written to PORTS, "NAME PORT" a line; then it says READY=1. CONTROL is a
 * datagram socket: "NAME COMMAND", NAME "*" for all of them. Ends on SIGTERM. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "link.h"

#define LINKS_MAX 128u
#define EVENTS_MAX 64

struct proxy {
	int epoll_fd, control_fd, signal_fd;
	struct link links[LINKS_MAX];
	unsigned count;
	bool ending;
};

_Noreturn static void
fail(const char *what)
{
	fprintf(stderr, "chaos-proxy: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static uint64_t
now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void
open_links(struct proxy *proxy, const char *configuration, const char *ports)
{
	FILE *in = fopen(configuration, "re"), *out = fopen(ports, "we");
	char address[64];

	if (in == NULL || out == NULL)
		fail("files");
	while (proxy->count < LINKS_MAX) {
		struct link *link = &proxy->links[proxy->count];

		if (fscanf(in, "%63s %63s %107s", link->name, address, link->target) != 3)
			break;
		if (link_open(link, proxy->epoll_fd, address) == -1)
			fail(link->name);
		fprintf(out, "%s %u\n", link->name, link->port);
		proxy->count++;
	}
	fclose(in);
	if (fclose(out) != 0)
		fail(ports);
}

static void
watch(const struct proxy *proxy, int fd, const int *which)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = (void *)which };

	if (fd == -1 || epoll_ctl(proxy->epoll_fd, EPOLL_CTL_ADD, fd, &event) == -1)
		fail("epoll_ctl");
}

static void
open_control(struct proxy *proxy, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	sigset_t term;

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	proxy->control_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bind(proxy->control_fd, (struct sockaddr *)&address, sizeof address) == -1)
		fail(path);
	watch(proxy, proxy->control_fd, &proxy->control_fd);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigaddset(&term, SIGINT);
	sigprocmask(SIG_BLOCK, &term, NULL);
	proxy->signal_fd = signalfd(-1, &term, SFD_CLOEXEC);
	watch(proxy, proxy->signal_fd, &proxy->signal_fd);
}

static void
on_control(struct proxy *proxy)
{
	char text[256], *command;
	ssize_t size = recv(proxy->control_fd, text, sizeof text - 1, 0);
	unsigned i;

	if (size <= 0)
		return;
	text[size] = '\0';
	command = strchr(text, ' ');
	if (command == NULL)
		return;
	*command++ = '\0';
	for (i = 0; i < proxy->count; i++)
		if ((strcmp(text, "*") == 0 || strcmp(text, proxy->links[i].name) == 0) &&
		    link_command(&proxy->links[i], proxy->epoll_fd, command) == -1)
			fprintf(stderr, "chaos-proxy: no such command: %s\n", command);
}

/* A connection lives as long as the batch of events it is in: it is closed by link_pump and
 * by commands alone, and commands come last. */
static void
dispatch(struct proxy *proxy, const struct epoll_event *events, int count)
{
	bool commanded = false;
	int i;

	for (i = 0; i < count; i++) {
		void *what = events[i].data.ptr;
		unsigned j;

		if (what == &proxy->control_fd || what == &proxy->signal_fd) {
			commanded = commanded || what == &proxy->control_fd;
			proxy->ending = proxy->ending || what == &proxy->signal_fd;
			continue;
		}
		for (j = 0; j < proxy->count && what != &proxy->links[j].end; j++)
			continue;
		if (j < proxy->count)
			link_accept(&proxy->links[j], proxy->epoll_fd);
		else if ((events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
			end_read(what, now_ms());
	}
	if (commanded)
		on_control(proxy);
}

static void
serve(struct proxy *proxy)
{
	struct epoll_event events[EVENTS_MAX];

	while (!proxy->ending) {
		uint64_t due = UINT64_MAX, now = now_ms();
		unsigned i;
		int count;

		for (i = 0; i < proxy->count; i++) {
			uint64_t one = link_pump(&proxy->links[i], proxy->epoll_fd, now);

			due = one < due ? one : due;
		}
		now = now_ms();
		count = epoll_wait(proxy->epoll_fd, events, EVENTS_MAX,
		    due == UINT64_MAX ? -1
		    : due > now       ? (int)(due - now)
				      : 0);
		if (count == -1 && errno != EINTR)
			fail("epoll_wait");
		dispatch(proxy, events, count);
	}
}

int
main(int argc, char *argv[])
{
	struct proxy *proxy;

	if (argc != 4) {
		fprintf(stderr, "usage: chaos-proxy CONFIGURATION PORTS CONTROL\n");
		return EXIT_FAILURE;
	}
	proxy = calloc(1, sizeof *proxy);
	if (proxy == NULL)
		fail("memory");
	signal(SIGPIPE, SIG_IGN);
	proxy->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	open_links(proxy, argv[1], argv[2]);
	open_control(proxy, argv[3]);
	sd_notify(0, "READY=1");
	serve(proxy);
	free(proxy);
	return EXIT_SUCCESS;
}
