/* socket_path: the file of an ipc:// endpoint that we bind. Part of socket.
 *
 * libzmq takes the place of whoever listens there, without a word, and leaves the file behind. */
#ifndef SOCKET_PATH_H
#define SOCKET_PATH_H

#include <stdbool.h>
#include <sys/types.h>

struct socket_path {
	dev_t device;
	ino_t inode; /* 0: there is none of ours */
};

/* True when somebody listens at endpoint. Of others than ipc:// bind() itself says so. */
bool socket_path_is_taken(const char *endpoint);

/* Returns what lies at endpoint, which we have just bound. */
struct socket_path socket_path_of(const char *endpoint);

/* Removes it, unless something else lies there by now. */
void socket_path_remove(const struct socket_path *path, const char *endpoint);

#endif
