/* store_inbox: reading the inbox, so much of it as can be moved at once. */
#include "store_private.h"

static void
begin(struct command *command, const char *function, const char *reader)
{
	command_text(command, "FCALL");
	command_text(command, function);
	command_text(command, "1");
	command_text(command, STORE_INBOX);
	command_text(command, STORE_INBOX_GROUP);
	command_text(command, reader);
}

enum store_status
store_inbox_read(struct store *store, struct arena *arena, const char *reader,
    const char *from, unsigned count, const struct value **entries_r)
{
	struct command command = { .arena = arena };

	begin(&command, "fl_inbox_read", reader);
	command_text(&command, from);
	command_uint(&command, count);
	command_uint(&command, INBOX_BATCH_BYTES);
	return store_send(store, &command, entries_r, NULL);
}

enum store_status
store_inbox_orphans(struct store *store, struct arena *arena, const char *reader,
    uint64_t idle_ms, const char **from_p, const struct value **entries_r)
{
	struct command command = { .arena = arena };
	const struct value *reply;
	enum store_status status;

	begin(&command, "fl_inbox_orphans", reader);
	command_uint(&command, idle_ms);
	command_text(&command, *from_p);
	command_uint(&command, INBOX_BATCH);
	command_uint(&command, INBOX_BATCH_BYTES);
	status = store_send(store, &command, &reply, NULL);
	if (status != STORE_OK)
		return status;
	*from_p = store_text_at(reply, 0);
	*entries_r = value_at(reply, 1);
	return *from_p != NULL ? STORE_OK : store_odd(store, reply);
}
