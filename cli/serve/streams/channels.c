/* channels: their names in LangGraph's thread protocol. */
#include <string.h>

#include "thread_frames.h"

static const struct {
	const char *name;
	unsigned channel;
} channels[] = {
	{ "values", CHANNEL_VALUES },
	{ "updates", CHANNEL_UPDATES },
	{ "messages", CHANNEL_MESSAGES },
	{ "tools", CHANNEL_TOOLS },
	{ "custom", CHANNEL_CUSTOM },
	{ "lifecycle", CHANNEL_LIFECYCLE },
	{ "input", CHANNEL_INPUT },
	{ "tasks", CHANNEL_TASKS },
	{ "checkpoints", CHANNEL_CHECKPOINTS },
};

bool
channel_add(const char *name, unsigned *channels_p)
{
	size_t i;

	for (i = 0; i < sizeof channels / sizeof *channels; i++)
		if (strcmp(channels[i].name, name) == 0) {
			*channels_p |= channels[i].channel;
			return true;
		}
	if (strncmp(name, "custom:", 7) != 0)
		return false;
	*channels_p |= CHANNEL_CUSTOM;
	return true;
}
