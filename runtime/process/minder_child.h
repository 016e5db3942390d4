/* minder_child: what a minder's child does until it is the program. It runs in the minder's memory, which waits meanwhile: a fork
 * would copy tables of all that the worker has mapped, for a moment, and each call of a tool pays for it. */
#ifndef MINDER_CHILD_H
#define MINDER_CHILD_H

#include <sys/types.h>

#include "minder.h"

/* What is mapped for it: the minder's, which outlives the start. */
struct minder_start {
	pid_t minder;
	const int *given; /* [LAUNCH_DESCRIPTORS] */
	int failed;       /* where a child that is no program says why: an errno */
	struct launch_image *image;
	size_t image_bytes;
	char **texts; /* room for the arguments and the environment */
	size_t texts_bytes;
	char *stack;
	size_t stack_bytes;
};

/* Returns 0, or an errno; minder_start_close either way. */
int minder_start_open(struct minder_start *start);
void minder_start_close(struct minder_start *start);

/* For clone, arg is a minder_start that is open: becomes the program that is given, or says why not and ends. Does not return. */
int minder_child_main(void *arg);

#endif
