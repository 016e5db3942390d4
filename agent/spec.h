/* spec: an agent as its user wrote it, checked whole and made ready.
 *
 * The reference for users is docs/agents.md; the keys are those of conformance/README.md
 * plus `name`, `description`, `model_settings`, `model_profile`, `script` (of the scripted provider),
 * `context` (JSON Schema of the run's static context). Loading checks everything that can
 * be known without a fleet: unknown keys, types, middleware and their settings, state
 * fields, jumps to nowhere, tool definitions, interrupts that name a node. */
#ifndef SPEC_H
#define SPEC_H

#include "middleware.h"

struct spec {
	const char *name;        /* the agent's */
	bool names_messages;     /* the source has a name: AI messages carry it */
	const char *description; /* or NULL */
	const char *version;     /* 40 hex digits: SHA-1 of the packed source */
	const struct value *source;
	/* Of a file's: why a fleet that does not have it yet takes no such agent, with the place; or
	 * NULL. What was accepted before there was that rule runs on. */
	const char *objection;
	const char *model;                  /* "openai:gpt-4o" */
	const char *provider;               /* "openai" */
	const struct value *model_settings; /* map, maybe empty */
	const struct value *model_profile;  /* or NULL; middleware/model_profile.h */
	const char *system_prompt;          /* or NULL */
	const struct value *tools; /* [name, or a definition without an implementation:
				      {name, ..., schema_only: true}, or a tool of the
				      provider's own as it was given] */
	const struct middleware_use *const *uses; /* in list order */
	size_t use_count;
	const struct field
	    *fields; /* all but messages: middleware's in list order, then `state`;
			a later definition of a name wins; structured_response and
			jump_to are built in and not among them */
	size_t field_count;
	const struct value
	    *response_format;       /* or NULL; in its one form: middleware/output.h */
	const struct value *script; /* or NULL */
	const struct value *context_schema; /* or NULL */
	bool raise_tool_errors;             /* tool_errors: raise */
	bool caches;          /* equal model calls are answered from a cache */
	int64_t cache_ttl_ms; /* for so long */
	bool debugs;          /* each step tells all it wrote, private fields too */
	int64_t recursion_limit;
	int64_t max_concurrency; /* calls of a round that are under way at once; 0: all */
	const struct value *interrupt_before; /* [node name], maybe empty; "*" is
						 spelled out */
	const struct value *interrupt_after;
	const struct value
	    *reads; /* [field]: what worker slices read, all uses together */
	const struct value *tool_reads; /* the same, and what those in tool workers do */
	bool wraps_tools;               /* some use has wrap_tool_call */
	/* {name of a use: {name: {name, version, source} of an agent that is part of this one, or
	 * {agent}, the name of one of the fleet's; mode?}}: middleware_use's children; maybe empty. */
	const struct value *children;
};

/* Loads source (a map). name is used when source has none. Returns the spec in arena, or
 * NULL with *path_r (JSON pointer of the offending node) and *error_r (one sentence, with
 * the nearest right name where there is one), in arena. */
struct spec *spec_load(struct arena *arena, const struct value *source, const char *name,
    const char **path_r, const char **error_r);

/* Loads every document of a YAML or JSON file. A document without a name is named after
 * the file. Returns the count and fills *specs_r (array in arena), or -1 with
 * "file:line:column: reason". */
long spec_load_file(struct arena *arena, const char *path,
    const struct spec *const **specs_r, const char **error_r);

/* Whether an entry of `tools` is one of the provider's own: nothing of ours runs it, and it goes out
 * as it is. */
bool spec_is_provider_tool(const struct value *tool);

/* The tool names an agent needs a worker for: the plain names of `tools` (those that are
 * neither schema-only nor brought by a middleware). */
const struct value *spec_served_tools(struct arena *arena, const struct spec *spec);

/* Returns the definition of tool name for spec: the catalog's (user tools win), a
 * schema-only one, or a middleware's; NULL when there is none. catalog: map name -> tool
 * definition. */
const struct value *spec_tool(
    const struct spec *spec, const struct value *catalog, const char *name);

/* The tools offered to the model by default: middleware tools in middleware order, then
 * `tools` in order; a later one of the same name wins and keeps the first's place. */
const struct value *spec_offered_tools(
    struct arena *arena, const struct spec *spec, const struct value *catalog);

/* The names of the tools that can run: those of middleware and the plain names of
 * `tools`; with a catalog only those that have a definition. */
const struct value *spec_valid_tools(
    struct arena *arena, const struct spec *spec, const struct value *catalog);

/* True for each name in `tools` or brought by a middleware. */
bool spec_has_tool(const struct spec *spec, const char *name);

/* True when structured output may be asked for as a call of an output tool, and for the
 * names of these tools. */
bool spec_has_output_tools(const struct spec *spec);
bool spec_is_output_tool(const struct spec *spec, const char *name);

/* The field of the state of that name, or NULL; `messages` and `structured_response` are none. Lends. */
const struct field *spec_field(const struct spec *spec, const char *name);

/* True when a field counts what model calls use. */
bool spec_counts_usage(const struct spec *spec);

/* True when a middleware answers the calls that earlier runs left open. */
bool spec_answers_open_calls(const struct spec *spec);

/* True, for a profile, when middleware hides values in answers; else NULL. */
const struct value *spec_hides(const struct spec *spec);

/* The profiles of CALL (proto/bodies.h), frozen; tools as offered. */
const struct value *spec_model_profile(
    struct arena *arena, const struct spec *spec, const struct value *catalog);
const struct value *spec_tool_profile(
    struct arena *arena, const struct spec *spec, const struct value *catalog);

#endif
