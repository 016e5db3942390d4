/* exchange_head: what of a request's head is asked for. */
#include <string.h>
#include <strings.h>

#include "http_server_private.h"

static struct MHD_Connection *
exchange_connection(const struct exchange *exchange)
{
	return ((const struct request *)exchange)
	    ->connection; /* it is its first member */
}

const char *
exchange_header(const struct exchange *exchange, const char *name)
{
	struct MHD_Connection *connection = exchange_connection(exchange);

	return connection == NULL
		   ? NULL
		   : MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* A header that is counted. */
struct counted {
	const char *name;
	unsigned count;
};

static enum MHD_Result
on_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct counted *counted = arg;

	(void)kind;
	(void)value;
	counted->count += strcasecmp(name, counted->name) == 0;
	return MHD_YES;
}

unsigned
exchange_header_count(const struct exchange *exchange, const char *name)
{
	struct MHD_Connection *connection = exchange_connection(exchange);
	struct counted counted = { .name = name };

	if (connection != NULL)
		MHD_get_connection_values(
		    connection, MHD_HEADER_KIND, on_header, &counted);
	return counted.count;
}

const char *
exchange_name(struct arena *arena, const char *bytes, size_t size)
{
	char *name = (char *)(uintptr_t)arena_copy(arena, bytes, size), *at;

	while ((at = strchr(name, HTTP_NAMED_SLASH)) != NULL)
		*at = '/';
	return name;
}

/* A parameter that is looked for, and its values so far. */
struct wanted {
	struct arena *arena;
	const char *name, *text;
};

static enum MHD_Result
on_parameter(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct wanted *wanted = arg;

	(void)kind;
	value = value != NULL ? exchange_name(wanted->arena, value, strlen(value)) : "";
	if (strcmp(name, wanted->name) == 0)
		wanted->text = wanted->text == NULL ? value
						    : arena_printf(wanted->arena, "%s,%s",
							  wanted->text, value);
	return MHD_YES;
}

const char *
exchange_query(const struct exchange *exchange, const char *name)
{
	struct MHD_Connection *connection = exchange_connection(exchange);
	struct wanted wanted = { exchange->arena, name, NULL };

	if (connection != NULL)
		MHD_get_connection_values(
		    connection, MHD_GET_ARGUMENT_KIND, on_parameter, &wanted);
	return wanted.text;
}
