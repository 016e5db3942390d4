/* `response_format`: structured output (middleware/output.h has its form), and which of the
 * agent's names are output tools. */
#include <string.h>

#include "bounds.h"
#include "loader.h"
#include "options.h"
#include "output.h"

/* An output tool has its schema's title as its name. */
static const char *
title_flaw(void *arg, const char *strategy, const struct value *title)
{
	const struct loader *loader = arg;
	struct loader scratch = { .arena = loader->arena };

	if (loader_check_name(
		&scratch, "", "the schema's title", title, TOOL_NAME_BYTES_MAX) == -1)
		return scratch.error;
	if (strcmp(strategy, "provider") != 0 && spec_has_tool(loader->spec, title->text))
		return arena_printf(loader->arena,
		    "there is a tool \"%s\": the schema needs another title",
		    title->text);
	return NULL;
}

int
load_response_format(struct loader *loader, const char *path, const struct value *given)
{
	const struct output_titles titles = { title_flaw, loader };
	const char *place, *error;

	if (given == NULL)
		return 0;
	loader->spec->response_format =
	    output_format(loader->arena, given, &titles, &place, &error);
	if (loader->spec->response_format != NULL)
		return 0;
	return loader_fail(
	    loader, arena_printf(loader->arena, "%s%s", path, place), "%s", error);
}

bool
spec_has_output_tools(const struct spec *spec)
{
	return spec->response_format != NULL &&
	       !value_text_is(value_get(spec->response_format, "strategy"), "provider");
}

bool
spec_is_output_tool(const struct spec *spec, const char *name)
{
	return name != NULL && spec_has_output_tools(spec) &&
	       output_schema(spec->response_format, name) != NULL;
}
