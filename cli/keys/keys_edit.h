/* keys_edit: changes an allow list's file so that all else in it stays, comments too: text
 * is added at the end or cut out, and what comes out must read as the list before with just
 * that change. The file is replaced in one step, for the brokers that watch it. */
#ifndef KEYS_EDIT_H
#define KEYS_EDIT_H

#include "allow_list.h"
#include "command.h"

/* Adds entry to the list at path, which is made when it is not there. Says why not. */
enum status keys_edit_add(
    struct arena *arena, const char *path, const struct allow_entry *entry);

/* Takes the entry of that name or key out. removed_r: what it was. Says why not. */
enum status keys_edit_remove(struct arena *arena, const char *path, const char *name,
    const struct allow_entry **removed_r);

#endif
