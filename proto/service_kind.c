#include "service_kind.h"

#include <string.h>

#include "bodies.h"

static const char *const names[SERVICE_KINDS] = {
	[KIND_MODEL] = "model",
	[KIND_TOOL] = "tool",
	[KIND_WEBHOOK] = "webhook",
	[KIND_STORE] = "store",
	[KIND_WORKER] = "worker",
	[KIND_OTHER] = "other",
};

enum service_kind
service_kind_of(const char *service)
{
	size_t size = strcspn(service, ":");
	unsigned kind;

	if (strcmp(service, SERVICE_TOOLS) == 0 || strcmp(service, SERVICE_WRAPS) == 0)
		return KIND_TOOL;
	for (kind = 0; kind < KIND_OTHER; kind++)
		if (strlen(names[kind]) == size &&
		    strncmp(names[kind], service, size) == 0)
			return (enum service_kind)kind;
	return KIND_OTHER;
}

const char *
service_kind_name(enum service_kind kind)
{
	return names[kind];
}
