#include "telling.h"

#include "bounds.h"

bool
telling_may(struct telling *telling, uint64_t now_ms)
{
	if (now_ms / 1000 != telling->second)
		*telling = (struct telling){ .second = now_ms / 1000 };
	return telling->values < STREAM_VALUES_MAX && telling->bytes < STREAM_BYTES_MAX;
}

bool
telling_takes(struct telling *telling, uint64_t now_ms, const struct value *value)
{
	struct packet packet = { 0 };
	size_t size;

	if (!telling_may(telling, now_ms))
		return false;
	value_pack(&packet, value);
	size = packet.size;
	packet_release(&packet);
	telling->values++;
	telling->bytes += size;
	return size <= STREAM_VALUE_BYTES_MAX;
}
