/* bodies: what the body frames of a message hold. Every body is one msgpack value.
 *
 * The broker forwards them untouched; coordinator and workers agree on them here. Maps
 * may carry more keys; unknown ones are skipped. "?" marks a key that may be absent.
 * docs/protocol.md says the same at greater length.
 *
 * CALL to `model:<provider>`: two frames.
 *   profile: equal for all calls of one agent version; workers keep it by its bytes
 *     agent, version     name and content hash
 *     model              "provider:name"
 *     model_settings?    {temperature, max_tokens, ...}
 *     model_profile?     of this model, middleware/model_profile.h
 *     system_prompt?     text
 *     tools              [tool], all the agent offers by default
 *     middleware         [{name, settings, models?, filters_only?}], those with a model slice and
 *                        those that filter what is shown, in list order; models: {model: profile}
 *                        their settings were checked with; filters_only: true: nothing else of it runs
 *     response_format?   {strategy, schemas, ...}, middleware/output.h
 *     task?              "moderation": no chat, the last message is judged; "embeddings": none either, the
 *                        messages' texts become vectors (proto/vector.h), which are additional_kwargs
 *                        {embeddings: [vector]} of the AI message
 *     tool_choice?       of calls that a middleware makes by itself
 *     script?            of the scripted provider: model name -> entries
 *     wraps_tools        true when some middleware implements wrap_tool_call
 *     name?              set as the AI messages' name
 *     tells_usage?       true: the RESULT has usage
 *     hides?             true: of a call that is made inside of another, a provider's reasons are not
 *                        for the log
 *   request:
 *     run, thread        ids
 *     messages           [message], without the system message
 *     digest?            of them (proto/digest.h)
 *     base, behind       instead of messages: the digest of the first ones, and the others; digest is
 *                        that of all
 *     state?             the fields the slices read
 *     context?           the run's static context
 *     providers?         [name], those whose models some worker serves: for middleware that
 *                        sends the request to another model
 *     answers?           [value], to the interrupts of this call so far, in their order
 * RESULT: one frame:
 *     messages           [AI message, tool messages of structured output ...]
 *     structured_response?
 *     updates?           [{field: value}], of the wraps, inner first
 *     writers?           [middleware], whose they are
 *     notes?             [{middleware?, text}], lines for the run's watchers
 *     usage?             [{model, usage, estimated?}], of each call that a provider answered; usage is
 *                        a usage_metadata (middleware/model_usage.h)
 *   or fault             {type, message, ...} (proto/fault.h); notes? beside it
 *   or interrupt         any value: a human is to answer it, then the call is made again with
 *                        one answer more; notes? beside it, and about? {response_schema?,
 *                        tool_call_ids?}
 *     kept?              beside any of these: the request's digest, when the worker keeps its messages;
 *                        nil to a request with a base when it does not
 *   or whole             true: the base is not known, the call is to be made again with messages; fault
 *                        beside it
 *
 * CALL to `tool:<name>`, or to `tools` for what no worker serves by that name: tools that
 * a middleware brings, schema-only and unknown ones; or to `worker:<session>`, which is `tools`
 * of that worker alone. Two frames.
 *   profile:
 *     agent, version, model
 *     tools              [name], the valid ones: for the "not a valid tool" message
 *     middleware         [{name, settings, models?}], those with wrap_tool_call or tools, in
 *                        list order
 *     script?            as above: for models that a wrap asks
 *     tells_usage?       as above
 *     hides?             true: middleware hides values in answers; for the profiles of such calls
 *   request:
 *     run, thread
 *     tool_call          {name, args, id, type}
 *     tool?              the tool's definition; absent for unknown ones
 *     state?, context?   as above; state.messages only when a slice reads "messages"
 *     internal?          one of middleware: the call is of a hook of its, without wraps
 *     answers?           as above
 *     children?          [{content, structured_response?, update?, run} or {fault, run}]: what came of
 *                        the children that this call has asked for so far, in their order
 * RESULT: one frame:
 *     commands           [{update: {messages: [tool message ...], field: value}, goto?}]
 *     notes?, usage?     as above; usage: of the calls of models that wraps and tools made
 *   or fault, or interrupt, as above
 *   or child             {middleware, name, messages}: an agent that one of the agent's middleware knows is
 *                        to do something; then the call is made again with one of children more;
 *                        kept_by? beside it: the session of the worker that waits for that call
 *
 * CALL to `store`, of a worker inside of a call it has: two frames, an empty map and the operation,
 * as store/items.h has it. RESULT: its answer. CALL to `webhook`: docs/protocol.md.
 *
 * tool: {name, description, parameters (JSON Schema), return_direct?, idempotent?,
 *   uncertain?, timeout_ms?, plain?}; plain: its worker runs no middleware
 * The catalog (body of a worker's HELLO and of OFFER): [tool], those behind its tool:
 * services; {threads: true} among them: the worker takes requests with a base.
 *
 * EVENT and PROGRESS: one frame, a map with at least
 *     kind               last word of the topic: "step", "token", "finished", ...
 *     run?, thread?, agent?
 *     seq?               number in the run's stored event log; absent: not stored
 * STATS (answer): {broker: {...}, sessions: [...], services: [...], calls: {...},
 *   bodies: {...}, counters: {...}}, the keys in docs/protocol.md. */
#ifndef BODIES_H
#define BODIES_H

#include "value.h"

#define SERVICE_MODEL_PREFIX "model:"
#define SERVICE_TOOL_PREFIX "tool:"
#define SERVICE_STORE "store"     /* long-term memory: every coordinator serves it */
#define SERVICE_WEBHOOK "webhook" /* posts what became of a run */
/* One tool worker alone, by its session: "worker:<32 hex digits>". What lives in that one's memory
 * is asked for by it; when the worker is gone so is that, and the call ends as WORKER_LOST. */
#define SERVICE_WORKER_PREFIX "worker:"
#define SERVICE_TOOLS "tools" /* every tool worker that runs wrap chains serves it */
/* The same for a tool whose own worker runs none (`plain`), beneath wraps. Such a call holds a slot where the wraps run
 * for as long as it waits for that other worker. So it has a service of its own, with fewer slots than the worker has:
 * however slow one such tool is and however many ask for it, `tools` and the worker's own tools have the rest. What is
 * beyond waits at the broker, which has it as any call: it goes to the next worker with room, and from one that dies to
 * another. */
#define SERVICE_WRAPS "wraps"

#define BODY_PROFILE 0u /* index of the frame behind the header */
#define BODY_REQUEST 1u
#define BODY_RESULT 0u
#define BODY_CATALOG 0u

/* Returns NULL, or what is wrong with the bodies of a call to a model or a tool: what is there of the
 * fields above is of its kind, so that who works with it need not look again. What a message, a tool,
 * or a middleware's settings are made of is for those who know it. Other services' are not looked at. */
const char *bodies_wrong(
    const char *service, const struct value *profile, const struct value *request);

/* The same for the body of a RESULT, of any service, which is also nested ANSWER_DEPTH_MAX at most; a fault in *body_p then has all that a fault has, and
 * is none when it was nil. What commands, messages and updates are made of is looked at where they are applied. */
const char *bodies_answer(struct arena *arena, const struct value **body_p);

#endif
