#include "ledger.h"

#include <stdio.h>

void
ledger_read(const char *path,
    void (*visit)(const char *tool, const char *key, int worker, void *arg), void *arg)
{
	FILE *file = fopen(path, "re");
	char tool[32], key[256];
	int worker;

	while (file != NULL && fscanf(file, "%31s %255s %d", tool, key, &worker) == 3)
		visit(tool, key, worker, arg);
	if (file != NULL)
		fclose(file);
}
