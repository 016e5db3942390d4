/* blueprint: agents as they are compiled, for what the API says of them: their graph, their state's fields.
 *
 * Middleware in shared objects is known if `flotilla serve` was given it (--plugin); an agent with other middleware has no
 * blueprint: then nobody knows here which fields it keeps private. Who has no tenant is shown all of them, a tenant those that
 * each agent has, and that are public. */
#ifndef BLUEPRINT_H
#define BLUEPRINT_H

#include "api.h"
#include "graph.h"
#include "shape.h"

struct blueprints;

struct blueprints *blueprints_new(void);
void blueprints_destroy(struct blueprints **blueprints_p);

struct blueprint {
	const char *name, *version;
	const struct value *source, *log; /* as of store_agent_source, store_agent_log */
	const struct spec *spec; /* NULL: it cannot be compiled here; error says why */
	const struct graph *graph;
	const char *error;
};

/* Reads the agent of that name, in arena: spec, graph and error are NULL. STORE_NONE: no such agent. */
enum store_status blueprint_read(struct call *call, struct arena *arena, const char *name,
    struct blueprint *blueprint_r);
/* Compiles what was read, in arena. */
void blueprint_compile(struct arena *arena, struct blueprint *blueprint);

/* Both, in the call's arena. Returns false after answering that there is no such agent. */
bool blueprint_open(struct call *call, const char *name, struct blueprint *blueprint_r);

/* JSON Schema of the state that goes in or comes out: an object with messages, and the fields but those that are left
 * out of it; spec NULL: messages alone (assistants.c). */
const struct value *assistant_state_schema(
    struct arena *arena, const struct spec *spec, bool is_input);

/* Whether a field is one that each agent has, open to all. */
bool blueprint_is_common(const char *field);

/* Which fields of a state are shown to who calls, in arena, by its head, or a run's record: {agent, version}, as which agent has
 * left it. All but those that the agent of that name keeps private now; to a tenant those alone that are known not to be, then and
 * now. So of an agent that cannot be compiled, or is none, a tenant is shown what each agent has, and nothing that another
 * agent has left on the thread before. Remembered by version. STORE_OK, or why Redis did not say: then the state must not be
 * shown. */
enum store_status blueprint_view(struct call *call, struct arena *arena,
    const struct value *head, struct shape_view *view_r);

/* Reads the state of the thread of that name as it is shown: *thread_r as of store_thread, with `asks`; *values_r. run: as
 * that run has left it so far, also when others have gone on behind it, while its checkpoints are there; NULL: as it is now. Waits
 * for room, and is STORE_REJECTED where there is none (room.h). */
enum store_status blueprint_thread(struct call *call, struct arena *arena,
    const char *name, const char *run, const struct value **thread_r,
    const struct value **values_r);

#endif
