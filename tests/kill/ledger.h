/* ledger: the file in which the tools of a test note what they do: a line "tool key worker" for each
 * time one begins, with its idempotency key and its worker's process id. */
#ifndef KILL_LEDGER_H
#define KILL_LEDGER_H

/* Calls visit for each line; there is none while there is no file. */
void ledger_read(const char *path,
    void (*visit)(const char *tool, const char *key, int worker, void *arg), void *arg);

#endif
