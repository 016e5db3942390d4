/* What may be a tenant's name, for which nothing of a call is needed. */
#include <string.h>

#include "tenant.h"

bool
tenant_is_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t size = strlen(text);

	return size > 0 && size <= TENANT_BYTES_MAX && strspn(text, letters) == size;
}
