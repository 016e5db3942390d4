#include "resend.h"

#include "bounds.h"

uint64_t
resend_first_ms(uint64_t pause_ms, size_t body_bytes)
{
	return pause_ms + (uint64_t)body_bytes * 1000 / CROSSING_BYTES_S;
}

uint64_t
resend_next_ms(uint64_t pause_ms)
{
	uint64_t max_ms =
	    pause_ms > RESULT_RESEND_MS_MAX ? pause_ms : RESULT_RESEND_MS_MAX;

	return 2 * pause_ms < max_ms ? 2 * pause_ms : max_ms;
}
