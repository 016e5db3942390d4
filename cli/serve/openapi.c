#include "openapi.h"

#include <stdlib.h>

#include "api.h"
#include "settings.h"
#include "yaml_file.h"

extern const char _binary_cli_serve_openapi_yaml_start[],
    _binary_cli_serve_openapi_yaml_end[];
extern const char _binary_cli_serve_docs_html_start[], _binary_cli_serve_docs_html_end[];

const struct value *
openapi_document(struct arena *arena)
{
	const char *begin = _binary_cli_serve_openapi_yaml_start, *error;
	struct yaml *yaml = yaml_parse(arena, "openapi.yaml", begin,
	    (size_t)(_binary_cli_serve_openapi_yaml_end - begin), &error);
	const struct value *document, *info;

	if (yaml == NULL)
		abort(); /* it is ours */
	document = yaml_root(yaml, 0);
	yaml_destroy(&yaml);
	info = value_map_with(arena, value_get(document, "info"), "version",
	    value_str(arena, FLOTILLA_VERSION));
	return value_map_with(arena, document, "info", info);
}

/* Nothing of it is made from what anybody has sent; what it loads it shows as text. */
#define DOCS_POLICY                                                                      \
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "    \
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "      \
	"'none'"

void
call_docs(struct call *call)
{
	exchange_add_header(call->exchange, "Content-Security-Policy", DOCS_POLICY);
	exchange_answer(call->exchange, 200, "text/html; charset=utf-8",
	    _binary_cli_serve_docs_html_start,
	    (size_t)(_binary_cli_serve_docs_html_end -
		     _binary_cli_serve_docs_html_start));
}

void
call_openapi(struct call *call)
{
	reply(call, 200, openapi_document(call->arena));
}
