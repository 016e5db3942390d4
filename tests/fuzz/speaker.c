#include "speaker.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *words;
static size_t words_size;
static int listener;

static void
require(bool fact)
{
	if (!fact)
		abort();
}

void
speaker_say(const uint8_t *data, size_t size)
{
	pthread_mutex_lock(&lock);
	words = realloc(words, size + 1);
	require(words != NULL);
	memcpy(words, data, size);
	words_size = size;
	pthread_mutex_unlock(&lock);
}

/* Sends all there is to say; who does not listen to the end is no matter. */
static void
speak(int connection)
{
	uint8_t *copy;
	size_t size, sent = 0;

	pthread_mutex_lock(&lock);
	size = words_size;
	copy = malloc(size + 1);
	require(copy != NULL);
	if (size > 0)
		memcpy(copy, words, size);
	pthread_mutex_unlock(&lock);
	while (sent < size) {
		ssize_t more = send(connection, copy + sent, size - sent, MSG_NOSIGNAL);

		if (more <= 0)
			break;
		sent += (size_t)more;
	}
	free(copy);
	shutdown(connection, SHUT_WR);
}

static void *
serve(void *arg)
{
	char heard[65536];
	int connection;

	(void)arg;
	while ((connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) != -1) {
		if (recv(connection, heard, sizeof heard, 0) > 0) {
			speak(connection);
			while (recv(connection, heard, sizeof heard, 0) > 0)
				continue;
		}
		close(connection);
	}
	return NULL;
}

static uint16_t
bind_loopback(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	require(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
	require(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
	return ntohs(address.sin_port);
}

static void
bind_path(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	require(strlen(path) < sizeof address.sun_path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	require(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
}

uint16_t
speaker_listen(const char *path)
{
	pthread_t thread;
	uint16_t port = 0;

	if (path == NULL)
		port = bind_loopback();
	else
		bind_path(path);
	require(listen(listener, 16) == 0);
	require(pthread_create(&thread, NULL, serve, NULL) == 0);
	pthread_detach(thread);
	return port;
}
