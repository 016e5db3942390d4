/* service_kind: what sort of work a service is, by its name (docs/protocol.md, "Services"): for who counts by it. */
#ifndef SERVICE_KIND_H
#define SERVICE_KIND_H

enum service_kind {
	KIND_MODEL,
	KIND_TOOL,
	KIND_WEBHOOK,
	KIND_STORE,
	KIND_WORKER, /* worker:SESSION, that worker alone */
	KIND_OTHER,
	SERVICE_KINDS
};

/* "model:openai": KIND_MODEL. */
enum service_kind service_kind_of(const char *service);
/* "model", "tool", "webhook", "store", "worker", "other". */
const char *service_kind_name(enum service_kind kind);

#endif
