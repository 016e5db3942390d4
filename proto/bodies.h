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
 *     system_prompt?     text
 *     tools              [tool], all the agent offers by default
 *     middleware         [{name, settings}], those with a model slice, in list order
 *     response_format?   {strategy, schemas, ...}
 *     script?            of the scripted provider: model name -> entries
 *     wraps_tools        true when some middleware implements wrap_tool_call
 *     name?              set as the AI messages' name
 *   request:
 *     run, thread        ids
 *     messages           [message], without the system message
 *     state?             the fields the slices read
 *     context?           the run's static context
 * RESULT: one frame:
 *     messages           [AI message, tool messages of structured output ...]
 *     structured_response?
 *     updates?           [{field: value}], of the wraps, inner first
 *     notes?             [{middleware?, text}], lines for the run's watchers
 *   or fault             {type, message, ...} (proto/fault.h); notes? beside it
 *
 * CALL to `tool:<name>`, or to `tools` for what no worker serves by that name: tools that
 * a middleware brings, schema-only and unknown ones. Two frames.
 *   profile:
 *     agent, version
 *     tools              [name], the valid ones: for the "not a valid tool" message
 *     middleware         [{name, settings}], those with wrap_tool_call or tools, in list
 *                        order
 *   request:
 *     run, thread
 *     tool_call          {name, args, id, type}
 *     tool?              the tool's definition; absent for unknown ones
 *     state?, context?   as above; state.messages only when a slice reads "messages"
 * RESULT: one frame:
 *     commands           [{update: {messages: [tool message ...], field: value}, goto?}]
 *   or fault
 *
 * tool: {name, description, parameters (JSON Schema), return_direct?, idempotent?,
 *   timeout_ms?}
 * The catalog (body of a worker's HELLO and of OFFER): [tool], those behind its tool:
 * services.
 *
 * EVENT and PROGRESS: one frame, a map with at least
 *     kind               last word of the topic: "step", "token", "finished", ...
 *     run?, thread?, agent?
 *     seq?               number in the run's stored event log; absent: not stored
 * STATS (answer): {broker: {...}, sessions: [...], services: [...], calls: {...},
 *   bodies: {...}, counters: {...}}, the keys in docs/protocol.md. */
#ifndef BODIES_H
#define BODIES_H

#define SERVICE_MODEL_PREFIX "model:"
#define SERVICE_TOOL_PREFIX "tool:"
#define SERVICE_TOOLS "tools" /* every tool worker that runs wrap chains serves it */

#define BODY_PROFILE 0u /* index of the frame behind the header */
#define BODY_REQUEST 1u
#define BODY_RESULT 0u
#define BODY_CATALOG 0u

#endif
