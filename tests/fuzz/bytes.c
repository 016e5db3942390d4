#include "bytes.h"

#include <stdlib.h>
#include <string.h>

#define IDS 6u
#define SERVICES 5u
#define TOPIC "run.r1.token"

uint64_t
bytes_number(struct bytes *bytes, uint64_t below)
{
	uint64_t number = 0, reach = 1;

	while (reach < below && bytes->left > 0) {
		number = number << 8 | *bytes->at++;
		bytes->left--;
		reach = reach > UINT64_MAX / 256 ? UINT64_MAX : reach * 256;
	}
	return below == 0 ? 0 : number % below;
}

const char *
bytes_text(struct bytes *bytes, struct arena *arena, size_t max, size_t *size_r)
{
	size_t size = bytes_number(bytes, max + 1);
	const char *text;

	if (size > bytes->left)
		size = bytes->left;
	text = arena_copy(arena, bytes->at, size);
	bytes->at += size;
	bytes->left -= size;
	if (size_r != NULL)
		*size_r = size;
	return text;
}

const char *
bytes_id(struct bytes *bytes)
{
	static const char *const ids[IDS] = { "r1.1.0", "r1.1.1", "r1.2.0", "r2.1.0",
		"r2.2.0", "r3.1.0" };

	return ids[bytes_number(bytes, IDS)];
}

static const char *
run_of(const char *id)
{
	static const char *const runs[] = { "r1", "r2", "r3" };

	return runs[id[1] - '1'];
}

static const char *
service(struct bytes *bytes)
{
	static const char *const services[SERVICES] = { "tool:a", "tool:b", "model:x",
		"worker:00000000000000000000000000000001",
		"worker:00000000000000000000000000000002" };

	return services[bytes_number(bytes, SERVICES)];
}

static void
add_lists(struct bytes *bytes, struct arena *arena, struct header *header)
{
	struct wire_service *services = arena_alloc(arena, SERVICES * sizeof *services);
	struct wire_call *calls = arena_alloc(arena, IDS * sizeof *calls);
	size_t i;

	header->service_count = bytes_number(bytes, SERVICES + 1);
	header->call_count = bytes_number(bytes, IDS + 1);
	for (i = 0; i < header->service_count; i++) {
		services[i].name = service(bytes);
		services[i].credit = (uint32_t)bytes_number(bytes, 5);
	}
	for (i = 0; i < header->call_count; i++) {
		calls[i].call_id = bytes_id(bytes);
		calls[i].state =
		    (enum wire_call_state)(CALL_RUNNING + bytes_number(bytes, 3));
	}
	header->services = services;
	header->calls = calls;
}

/* A session and its name, of few. */
static void
add_session(struct bytes *bytes, struct arena *arena, struct header *header)
{
	unsigned number = (unsigned)bytes_number(bytes, 8);

	header->session = arena_printf(arena, "%032x", number);
	header->name = arena_printf(arena, "p%u", number);
	header->role = 1 + bytes_number(bytes, 3);
	header->protocol_min = bytes_number(bytes, 16) == 15 ? 2 : 1;
	header->protocol_max = WIRE_VERSION + (header->protocol_min == 2);
}

static struct header
build(struct bytes *bytes, struct arena *arena, enum message_type type)
{
	struct header header = { .type = type, .call_id = bytes_id(bytes) };

	header.run = run_of(header.call_id);
	header.flags = (unsigned)bytes_number(bytes, 16);
	header.epoch = bytes_number(bytes, 4);
	header.service = service(bytes);
	header.credit = bytes_number(bytes, 5);
	header.capacity = bytes_number(bytes, 5);
	header.deadline_ms = bytes_number(bytes, 30000);
	header.priority = bytes_number(bytes, PRIORITY_MAX + 1);
	header.tenant = bytes_number(bytes, 2) == 0 ? NULL : "t1";
	header.code =
	    type == MSG_ERROR ? 1 + bytes_number(bytes, 12) : bytes_number(bytes, 13);
	header.retry_after_ms = bytes_number(bytes, 3000);
	header.probes = bytes_number(bytes, 2);
	header.topic = TOPIC;
	header.heartbeat_ms = 1 + bytes_number(bytes, 1000);
	header.liveness_ms = 1 + bytes_number(bytes, 5000);
	if (type == MSG_HELLO || type == MSG_WELCOME || type == MSG_OFFER ||
	    type == MSG_WITHDRAW)
		add_session(bytes, arena, &header);
	if (type == MSG_HELLO || type == MSG_ANNOUNCE)
		add_lists(bytes, arena, &header);
	return header;
}

static const struct header *
through_the_wire(struct arena *arena, const struct header *header)
{
	struct header *decoded = arena_alloc(arena, sizeof *decoded);
	struct packet packet = { 0 };
	enum wire_code code;
	const char *reason;
	int result;

	wire_encode(&packet, header);
	result = wire_decode(arena, packet.data, packet.size, decoded, &code, &reason);
	packet_release(&packet);
	return result == 0 ? decoded : NULL;
}

const struct header *
bytes_message_of(struct bytes *bytes, struct arena *arena, const enum message_type *types)
{
	struct header header;
	size_t count = 0;

	while (types[count] != 0)
		count++;
	header = build(bytes, arena, types[bytes_number(bytes, count)]);
	return through_the_wire(arena, &header);
}

const struct header *
bytes_message(struct bytes *bytes, struct arena *arena, enum wire_code *code_r,
    const char **reason_r)
{
	static const enum message_type types[] = {
#define MSG(name, number, way, text) MSG_##name,
#include "messages.def"
#undef MSG
		0
	};
	struct header *decoded = arena_alloc(arena, sizeof *decoded);
	const struct header *built;
	const char *raw;
	size_t size;

	if (bytes_number(bytes, 8) != 7) {
		built = bytes_message_of(bytes, arena, types);
		*code_r = CODE_MALFORMED;
		*reason_r = "it lacks what its type requires";
		return built;
	}
	raw = bytes_text(bytes, arena, 255, &size);
	if (wire_decode(arena, raw, size, decoded, code_r, reason_r) == -1)
		return NULL;
	return decoded;
}

void
check_sendable(const struct header *header)
{
	struct arena *arena = arena_new();

	if (through_the_wire(arena, header) == NULL)
		abort();
	arena_destroy(&arena);
}
