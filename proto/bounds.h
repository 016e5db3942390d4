/* bounds: every bound on what another process, a user or a provider can make us hold.
 *
 * One list, so that a bound is found, argued about and changed in one place. Subject
 * first, unit in the name. docs/protocol.md repeats those that a peer must know. */
#ifndef BOUNDS_H
#define BOUNDS_H

/* The wire (docs/protocol.md). */
#define HEADER_BYTES_MAX 32768u    /* a header frame: SERVICES_MAX names fit a HELLO */
#define BODY_FRAMES_MAX 8u         /* body frames behind a header */
#define BODY_BYTES_MAX (16u << 20) /* one body frame; also ZMQ_MAXMSGSIZE */
#define ID_BYTES_MAX 128u          /* run, thread and call ids, agent names */
#define RUN_ID_BYTES_MAX 96u       /* a run's or thread's: call ids are longer */
#define TENANT_BYTES_MAX 32u       /* whose names say that they are its: "acme~t1" */
#define TENANT_MARK "~"            /* behind that; in no such tenant's name */
#define SERVICE_BYTES_MAX 96u      /* "tool:search" */
#define SERVICES_MAX 256u          /* services one worker may announce */
#define ANNOUNCED_CALLS_MAX 64u    /* calls in one ANNOUNCE */
#define TOPIC_BYTES_MAX 192u       /* a topic of the status channel */
#define READER_BYTES_MAX 4096u     /* what a reader of it sends; its ZMQ_MAXMSGSIZE */
#define WANTED_PREFIXES_MAX 32u    /* of topics, in one WANTED; more: everything */
#define REASON_BYTES_MAX 1024u     /* a sentence for people; longer ones are cut */
#define FAULT_TYPE_BYTES_MAX 100u  /* that a tool or a chunk of Lua invents */
#define KEY_BYTES_MAX 256u         /* an idempotency key */
#define TRACEPARENT_BYTES_MAX 64u  /* W3C trace context, 55 in its first version */
#define PRIORITY_MAX 4u            /* of a call; 0 goes first */
#define PRIORITY_USUAL 2u          /* unless it says otherwise */
#define PROTOCOL_ERRORS_MAX 10u    /* then a session is dropped */

/* How long a message may take to cross a connection: that of the largest body by the slowest of
 * use, a megabit a second, and some more. */
#define CROSSING_BYTES_S (128u << 10)
#define CROSSING_MS_MAX 150000u

/* Values (proto/value.h). */
#define VALUE_DEPTH_MAX 64u    /* nesting of arrays and maps in JSON and YAML */
#define PACKED_DEPTH_MAX 96u   /* in msgpack: what came in travels inside of ours */
#define ANSWER_DEPTH_MAX 88u   /* of an answer: calls, heads, events hold it */
#define ANSWER_PARTS_MAX 1024u /* updates, or commands, of one answer */
#define USAGE_NAMES_MAX 256u   /* models, and counts of each, that sums of usage have */
#define TALLY_MODELS_MAX 100u  /* models that a coordinator tells apart in its counts */
#define ANSWER_TOKENS_MAX INT64_C(1000000000) /* that one answer of a model has used */
#define VALUE_NODES_MAX (4u << 20)            /* values in one decoded document */

#define JSON_BYTES_MAX (256u << 20) /* one JSON text */
#define YAML_ANCHORS_MAX 256u       /* of one document */
#define YAML_TAGS_MAX 64u           /* %TAG lines of one file */
#define YAML_NODES_MAX 200000u /* values of a file, aliases counted where they stand */
#define YAML_TEXT_BYTES_MAX (16u << 20) /* of their texts, counted likewise */

#define ENDPOINT_BYTES_MAX 256u /* "tcp://..." */

#define METRICS_TOKENS_MAX 2000u /* counts of models that `metrics` tells */
#define METRICS_ROWS_MAX 500u /* processes that `metrics` tells of one by one; services */
#define METRICS_CONNECTIONS_MAX 64u  /* at once, to its port */
#define METRICS_HEAD_BYTES_MAX 8192u /* of a request there, and all else that it needs */

/* The API over HTTP. */
#define SERVE_HEAD_BYTES_MAX                                                             \
	32768u /* of a request, and all else that a connection needs */
#define SERVE_BODY_BYTES_MAX (9u << 20)  /* an input, and what stands around it */
#define SERVE_LIST_BYTES_MAX (32u << 20) /* an answer that is a list */
#define SERVE_STATES_MAX 8u              /* that are held at once, to be shown */
#define SERVE_LISTS_MAX 16u              /* that are made at once */
#define SERVE_SEARCHES_MAX 32u           /* by meaning, which wait for a model */
#define SERVE_FRAMES_BYTES_KEPT 65536u   /* by a stream, behind a large one */
#define SERVE_IDS_MAX 1000u              /* that a search names */
#define SERVE_NAMES_MAX 256u             /* of a body */
#define SERVE_IDLE_S 60u
#define KEY_SET_BYTES_MAX (256u << 10) /* an issuer's public keys */
#define SERVE_REQUEST_MS 60000u

/* Long-term memory (store/items.h). */
#define INTERRUPT_NODES_MAX 256u /* nodes that a submission names to pause at */
#define ITEM_LABELS_MAX 16u
#define ITEM_LABEL_BYTES_MAX 128u
#define ITEM_KEY_BYTES_MAX 256u
#define ITEM_VALUE_BYTES_MAX (1u << 20) /* packed */
#define ITEM_INDEX_MAX 16u              /* fields of one item that say what it means */
#define ITEM_INDEX_BYTES_MAX 256u
#define ITEMS_LIMIT_MAX 1000u /* of one search */
#define ITEM_QUERY_BYTES_MAX 16384u
#define ITEM_FILTER_MAX 256u     /* conditions: each item is held against all of them */
#define ITEMS_EMBEDDED_MAX 2000u /* that get a vector within one search by meaning */
/* Of one text; what is behind is not looked at. No token has less than a byte, and OpenAI takes 8192 of them. */
#define EMBEDDED_TEXT_BYTES_MAX 8000u
#define EMBEDDED_TEXTS_MAX 64u          /* of one call */
#define EMBEDDED_BYTES_MAX (256u << 10) /* of their texts; OpenAI takes 300,000 tokens */
#define EMBEDDED_NUMBERS_MAX (128u << 10) /* of their vectors: some 3 MB of JSON */
#define VECTOR_NUMBERS_MAX 8192u
#define ITEM_TTL_MS_MAX INT64_C(316224000000) /* ten years */
#define ITEMS_SCANNED_MAX 100000u             /* looked at by one search with a filter */
#define ITEMS_SCANNED_BYTES_MAX (256u << 20)
#define ITEMS_FOUND_BYTES_MAX (16u << 20) /* held by one search at once */

/* The broker. */
#define SESSIONS_MAX 4096u
#define ALLOWED_KEYS_MAX 4096u /* on an allow list */
#define KEY_SESSIONS_MAX                                                                 \
	1024u /* sessions at once of one key, unless its entry says else */
#define QUEUE_CALLS_MAX 100000u     /* waiting calls of one service */
#define CALLS_MAX 200000u           /* calls known at once */
#define RESULTS_KEPT_MAX 20000u     /* results whose requester is gone */
#define CREDIT_MAX 100000u          /* slots a worker may grant */
#define CALL_ATTEMPTS_MAX 5u        /* workers a call may lose, then it is poison */
#define CALL_SUSPECT_LOSSES 2u      /* from then on it is at a worker without its like */
#define SETTLED_IDS_MAX 100000u     /* settled calls whose ids are remembered */
#define BODIES_BYTES_MAX (1u << 30) /* held in bodies, then new calls get BUSY */
#define SEEKS_STEP_MAX 5000u        /* that are sent at once, to all workers together */
#define GONE_WORKERS_MAX                                                                 \
	256u /* sessions of workers that went, remembered for calls to them */
/* Every so many turns a queue's last priority goes first, and a worker's services are
 * equals whatever their priorities. */
#define AGEING_TURNS 16u

/* A worker. */
#define OUTBOX_RESULTS_MAX 10000u /* finished calls that wait for RESULT_ACK */
#define OUTBOX_SETTLED_MAX 10000u /* ids of calls that must not run twice, remembered */
#define CREDIT_PAUSE_MS 20u /* free slots are told to other brokers so often at most */
#define WORKER_PROFILES_MAX 256u /* decoded profiles kept for the next call */

/* A coordinator. */
#define HEARD_THREADS_MAX 16384u  /* whose last model request is remembered */
#define TOOLS_KEEP_MS 2592000000u /* in Redis, since a tool was last served: 30 days */
#define CATALOG_TOOLS_MAX 4096u /* known; above, those that nobody serves are forgotten */

/* Calls of ours (peer/ledger.h). */
#define BROKERS_MAX 16u              /* one process has sessions with at once */
#define LEDGER_FORGOTTEN_MAX 100000u /* ids of another owner's calls, remembered */
#define LEDGER_OWED_MAX 10000u       /* settled calls that brokers away do not know of */
#define LEDGER_DOUBTED_MAX 10000u /* settled calls that a broker may not have heard of */

/* Time, in milliseconds. */
#define HEARTBEAT_MS 300u      /* how often a peer that is silent speaks */
#define LIVENESS_MS 1500u      /* silent for longer is dead */
#define SUSPECT_MS 5000u       /* a ONCE call waits for its silent worker to come back */
#define ACK_RIPE_MS 5u         /* an acknowledgement waits so long for others */
#define ACK_WAIT_MS 25u        /* and so long for another message that it can go with */
#define RESEND_MS 1000u        /* an unacknowledged CALL or RESULT is sent again */
#define RECOVERY_MS 1000u      /* a new broker waits for announcements */
#define SEEK_MS 200u           /* a broker waits for the workers it asks for a call */
#define EXPIRE_GRACE_MS 2000u  /* a late worker's own answer is awaited so long */
#define SETTLED_KEEP_MS 60000u /* how long a settled call's id is remembered */
#define RESULT_KEEP_MS 600000u /* how long a result waits for somebody who asks */
#define OUTBOX_FLUSH_MS                                                                  \
	5000u /* a draining worker waits so long for its last RESULT_ACK */
#define HELLO_WAIT_MS_MAX                                                                \
	5000u /* a peer greets again after ever longer waits up to this */
#define RESULT_RESEND_MS_MAX 30000u /* a worker sends a result again ever less often */
#define CALL_DEADLINE_MS 600000u    /* of a call, when nobody says otherwise */
#define CALL_DEADLINE_MS_MAX 86400000u
#define CACHE_TTL_MS_USUAL INT64_C(604800000) /* an answer is kept for a week */
#define LEASE_MS 1500u                        /* a coordinator's lease on a shard */
#define RENEW_MS 300u                         /* how often it is renewed */
#define SERVED_WAIT_MS 10000u /* how long a run waits for a tool nobody serves yet */
#define CANCEL_WAIT_MS 5000u  /* how long a cancel waits for the workers' answers */
#define PROBE_MS 5000u        /* how often a worker is probed */
#define PROBE_WAIT_MS 5000u   /* unanswered for so long: it gets no new calls */
#define PROBE_DROP_MS 30000u  /* for so long: its session ends */
#define STUCK_MS 15000u       /* a loop that has not turned for so long is at its end */

/* Redis. */
#define SHARDS 64u
#define INBOX_BATCH 128u                  /* submissions read at once */
#define INBOX_BATCH_BYTES (16u << 20)     /* of them, and what of the last one is above */
#define REDIS_TEXT_BYTES_MAX (512u << 20) /* of one in a reply, as Redis has it */
#define REDIS_REPLY_BYTES_MAX (1u << 30)  /* that a reply takes in memory */
#define REDIS_REPLY_ELEMENTS_MAX (1u << 20) /* of one array in a reply */

/* Agents. */
#define SPEC_BYTES_MAX (1u << 20)
#define MIDDLEWARE_MAX 64u /* in one agent */
#define AGENT_TOOLS_MAX 256u
#define AGENT_CHILDREN_MAX 256u /* that one middleware has work */
#define SPEC_PARTS_BYTES_MAX                                                             \
	(32u << 20)            /* of the agents within one, as they are complete */
#define STATE_FIELDS_MAX 1024u /* of one agent, all middleware together */
#define OUTPUT_SCHEMAS_MAX 32u /* of one response_format */
#define NOTES_MAX 64u          /* lines for the watchers of one call */
#define HOOK_LINES_MAX 100u    /* in the log of a process, of one call of a hook */
#define TOOL_CALLS_MAX 128u    /* in one AI message of a provider */
#define ROUND_CALLS_MAX 1024u  /* of tools, at once: in any other, as an update brings */
#define CALL_CHILDREN_MAX 100u /* that one call of a tool has do something */
#define CALL_CHILDREN_BYTES_MAX                                                          \
	(7u << 20)          /* of what came of them: the call that goes on holds more */
#define CHILD_DEPTH_MAX 16u /* runs that began one another, from the first one on */
#define ANSWER_BLOCKS_MAX 1024u /* of content in one AI message from a provider */
#define RECURSION_LIMIT 10000u  /* supersteps of a run, semantics.md 13.16 */
#define INBOX_LOOKS_MAX                                                                  \
	100u /* entries, newest first, where a run may be that nobody has taken */
#define INPUT_BYTES_MAX (8u << 20) /* a submission's input */

/* What a submission says of its run, besides. */
#define METADATA_BYTES_MAX 16384u /* as JSON */
#define AFTER_MS_MAX INT64_C(31536000000)
#define AT_MS_MAX INT64_C(9999999999999) /* the year 2286 */
#define RUN_DEADLINE_MS_MAX INT64_C(31536000000)
#define WEBHOOK_URL_BYTES_MAX 2048u
#define TTL_MS_MAX UINT64_C(316224000000) /* of a thread; ten years */

/* Crons: runs that recur. */
#define CRON_ID_BYTES_MAX 76u       /* its runs' ids have their time behind it */
#define CRONS_SHARD_MAX 1000u       /* of a shard */
#define CRONS_TENANT_SHARD_MAX 100u /* of one tenant */

/* Assistants: agents with a context of their own. */
#define ASSISTANTS_MAX 10000u
#define ASSISTANTS_TENANT_MAX 1000u     /* of one tenant */
#define ASSISTANT_BYTES_MAX (64u << 10) /* of a version, packed */
#define ASSISTANT_NAME_BYTES_MAX 256u
#define ASSISTANT_VERSIONS_MAX 100u /* that are kept, the newest */

/* Webhooks. */
#define WEBHOOK_BYTES_MAX (8u << 20) /* told of a run; its output is left out first */
#define WEBHOOK_CALL_MS 15000u       /* of one attempt */
#define WEBHOOK_LEASE_MS 20000u      /* then another coordinator makes the attempt */
#define WEBHOOK_WAIT_MS_MAX 600000u  /* between two attempts, unless they ask for more: */
#define WEBHOOK_RETRY_AFTER_MS_MAX 3600000u
#define WEBHOOK_UNSERVED_MS_MAX 2592000000 /* 30 days */

/* Traces (runtime/trace/). */
#define TRACE_QUEUE_BYTES_MAX (4u << 20)   /* of spans that wait to be sent */
#define TRACE_BATCH_BYTES (256u << 10)     /* so many are sent at once */
#define TRACE_SEND_MS 1000u                /* fewer wait so long */
#define TRACE_REQUEST_MS 10000u            /* one request to the collector */
#define TRACE_ANSWER_BYTES_MAX (64u << 10) /* and what it says */
#define TRACE_ENDPOINT_BYTES_MAX 2048u
#define TRACE_HEADERS_MAX 32u /* of OTEL_EXPORTER_OTLP_HEADERS */

/* JSON Schema and regular expressions: of users, against what models write. */
/* (schema, value) pairs, and bytes of texts by the 256, looked at in one check. */
#define SCHEMA_STEPS_MAX 500000u
#define SCHEMA_DEPTH_MAX 160u      /* nested; a fiber's stack bears it */
#define PATTERN_STEPS_MAX 2000000u /* of one search; more for long texts: */
#define PATTERN_STEPS_BYTE 8u      /* for each byte of the text */
#define PATTERN_EXCESS_MAX                                                               \
	20000000u               /* of all searches of a check, beyond those of bytes */
#define PATTERN_STEP_BYTES 16u  /* that one item of the pattern runs over cost a step */
#define PATTERN_AHEAD_BYTES 32u /* that an item may run over and then fail: a step */
#define PATTERN_COMPARE_BYTES 512u /* the same of a back reference, without (?i) */
#define PATTERN_CLASS_BYTES 64u    /* compiled, of a class: a step for each character */
#define PATTERN_FRAME_BYTES 1024u  /* of groups, kept at each item: a step */
#define PATTERN_HEAP_KIB_MAX 32768u
#define PATTERN_BYTES_MAX 65535u /* PCRE2 tells places in 16 bits */
#define PATTERN_BEHIND_MAX 255u  /* characters that a lookbehind goes back */

/* Providers and tools. */
#define HTTP_HEAD_BYTES_MAX (64u << 10) /* of a response */
#define HTTP_BODY_BYTES_MAX (64u << 20)
#define SERVERS_MAX 64u        /* that async_subagent may call, of one worker */
#define SERVER_HEADERS_MAX 32u /* of an entry there */
#define SERVER_ANSWER_BYTES_MAX (8u << 20) /* of such a server */
#define SSE_EVENT_BYTES_MAX (8u << 20) /* the last one of an answer may have all of it */
#define FRAME_BYTES_MAX (8u << 20)     /* likewise, of Bedrock's streams */
#define ANSWER_BYTES_MAX (8u << 20)    /* text and arguments of one model answer */
/* MCP servers whose tools a worker has. */
#define MCP_HEADERS_MAX 32u
#define MCP_START_MS                                                                     \
	30000u /* until it has said its tools, unless its file says otherwise */
#define MCP_MESSAGE_BYTES_MAX (8u << 20)
#define MCP_TOOL_BYTES_MAX (128u << 10)  /* what models are told of one */
#define MCP_CATALOG_BYTES_MAX (8u << 20) /* of all of a worker's, in one HELLO */
#define MCP_TOOLS_MAX 1000u              /* that are looked at, of one server */
#define MCP_PAGES_MAX 100u               /* of a list of tools */
/* stdout of a command tool, unless its file says less. */
#define TOOL_OUTPUT_BYTES_MAX (1u << 20)
#define TOOL_STDERR_BYTES_MAX (64u << 10)
#define TOOL_TIMEOUT_MS 60000u /* of a command tool, unless its file says otherwise */
/* From SIGTERM to SIGKILL, unless its file says otherwise; a cancel waits for it. */
#define TOOL_GRACE_MS 200u
/* What a call tells who listens to its run (peer/telling.h): each value, and within a second. */
#define STREAM_VALUE_BYTES_MAX (64u << 10)
#define STREAM_VALUES_MAX 1000u
#define STREAM_BYTES_MAX (1u << 20)
#define TOOL_EXIT_ASKS 75 /* of a tool with interrupts: it asks a human (EX_TEMPFAIL) */
#define TOOL_GRACE_MS_MAX 4000u
/* What the program of a command tool may use, unless its file says otherwise. */
#define TOOL_MEMORY_BYTES (UINT64_C(4) << 30) /* each process of it, of its own data */
#define TOOL_FILE_BYTES (UINT64_C(1) << 30)   /* each file it writes */
#define TOOL_OPEN_FILES 1024u
#define TOOL_PROCESSES 4096u    /* of its user, all that he has counted */
#define TOOL_NAME_BYTES_MAX 64u /* what providers accept */
#define TOOL_COMMAND_ITEMS_MAX 256u
#define TOOL_ARGUMENT_BYTES_MAX (100u << 10) /* in argv or environment; Linux: 128 KiB */
#define TOOL_PARALLEL_MAX 10000u
#define PROFILES_MAX 256u /* agent versions whose chains a worker keeps */

/* A fiber's stack: virtual bytes; pages that are never touched cost nothing. */
#define FIBER_STACK_BYTES (256u << 10)
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define FIBERS_MAX 4000u /* they have mappings, or shadow, of their own for each */
#else
#define FIBERS_MAX 30000u /* a guard page each: vm.max_map_count is 65530 */
#endif

#endif
