#include "aof.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

struct aof {
	const char *bytes;
	size_t size, at;
};

struct aof *
aof_open(const char *folder)
{
	char path[512];
	struct aof *aof;
	struct stat of;
	void *map;
	int fd;

	/* Redis never rewrites it (fleet_launch.c): there is one. */
	snprintf(path, sizeof path, "%s/appendonlydir/appendonly.aof.1.incr.aof", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return NULL;
	if (fstat(fd, &of) == -1 || of.st_size == 0) {
		close(fd);
		return NULL;
	}
	map = mmap(NULL, (size_t)of.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return NULL;
	aof = xcalloc(1, sizeof *aof);
	aof->bytes = map;
	aof->size = (size_t)of.st_size;
	return aof;
}

void
aof_close(struct aof **aof_p)
{
	munmap((void *)(*aof_p)->bytes, (*aof_p)->size);
	free(*aof_p);
	*aof_p = NULL;
}

/* Reads "<mark><number>\r\n". Returns -1 when something else is there. */
static long long
read_count(struct aof *aof, char mark)
{
	const char *begin = aof->bytes + aof->at;
	const char *end = memchr(begin, '\n', aof->size - aof->at);

	if (end == NULL || *begin != mark)
		return -1;
	aof->at = (size_t)(end - aof->bytes) + 1;
	return strtoll(begin + 1, NULL, 10);
}

int
aof_next(struct aof *aof, struct aof_command *command_r)
{
	long long count, i;

	if (aof->at == aof->size)
		return 0;
	count = read_count(aof, '*');
	if (count < 1 || count > (long long)AOF_ARGUMENTS_MAX)
		return -1;
	command_r->count = (size_t)count;
	for (i = 0; i < count; i++) {
		long long size = read_count(aof, '$');

		if (size < 0 || (size_t)size + 2 > aof->size - aof->at)
			return -1;
		command_r->arguments[i] =
		    (struct aof_argument){ aof->bytes + aof->at, (size_t)size };
		aof->at += (size_t)size + 2;
	}
	return 1;
}

bool
aof_is(const struct aof_argument *argument, const char *text)
{
	return argument->size == strlen(text) &&
	       strncasecmp(argument->text, text, argument->size) == 0;
}

long long
aof_number(const struct aof_argument *argument)
{
	char text[32];

	snprintf(text, sizeof text, "%.*s", (int)argument->size, argument->text);
	return strtoll(text, NULL, 10);
}
