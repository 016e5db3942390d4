#include "http.h"

#include <assert.h>

#include "fiber.h"
#include "http_transfer.h"
#include "bounds.h"

#define REST_MS 1000u

void
http_fail(struct transfer *transfer, enum http_failure failure, const char *reason)
{
	transfer->response->failure = failure;
	transfer->response->reason = reason;
}

static void
on_ended(void *arg, CURLcode code)
{
	struct transfer *transfer = arg;

	transfer->code = code;
	transfer->has_ended = true;
	transfer->lane = NULL;
	fiber_wake(transfer->fiber);
}

static int
begin(struct transfer *transfer)
{
	if (fiber_cancelled()) {
		http_fail(transfer, HTTP_CANCELLED, "cancelled");
		return -1;
	}
	if (http_prepare(transfer) == -1)
		return -1;
	/* A new one each time, though curl would let us keep them: until its 8.1 (Debian 12 has
	 * 7.88) a handle that is used again remembers the last header of the answer before,
	 * freed long ago, and appends a first header that begins with a space to it.
	 * Connections, names and TLS sessions are kept elsewhere. */
	transfer->easy = curl_easy_init();
	assert(transfer->easy != NULL); /* out of memory */
	http_set_options(transfer);
	transfer->lane =
	    http_pool_lane(transfer->http, transfer->target->origin, on_ended);
	http_lane_add(transfer->lane, transfer->easy);
	return 0;
}

/* --- meanwhile ----------------------------------------------------------------------- */

/* Hands what has come to on_data, and lets curl read on. */
static int
deliver(struct transfer *transfer)
{
	const struct http_request *request = transfer->request;
	struct packet piece = transfer->body;
	int result;

	transfer->body = (struct packet){ 0 };
	if (transfer->is_paused && transfer->lane != NULL) {
		transfer->is_paused = false;
		curl_easy_pause(transfer->easy, CURLPAUSE_CONT);
	}
	result = request->on_data(request->arg, piece.data, piece.size);
	packet_release(&piece);
	/* The time it took was ours, not the server's. */
	transfer->heard_ms = loop_now_ms(transfer->http->loop);
	if (result == 1 && transfer->sated_ms == 0)
		transfer->sated_ms = transfer->heard_ms;
	if (result != -1)
		return 0;
	http_fail(transfer, fiber_cancelled() ? HTTP_CANCELLED : HTTP_ABORTED, "aborted");
	return -1;
}

static uint64_t
later_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns when the wait is over, and says for what. */
static uint64_t
deadline_ms(const struct transfer *transfer, const char **reason_r)
{
	const struct http_request *request = transfer->request;
	/* After a gap of our own the server gets its time again. */
	uint64_t gap_ms = loop_gap_ms(transfer->http->loop), ms = UINT64_MAX;

	if (transfer->heard_ms == 0 && request->first_byte_timeout_ms != 0) {
		ms = later_of(transfer->started_ms, gap_ms) +
		     request->first_byte_timeout_ms;
		*reason_r = "no answer in time";
	} else if (transfer->heard_ms != 0 && request->idle_timeout_ms != 0) {
		ms = later_of(transfer->heard_ms, gap_ms) + request->idle_timeout_ms;
		*reason_r = "the answer stopped in the middle";
	}
	if (transfer->sated_ms != 0 &&
	    later_of(transfer->sated_ms, gap_ms) + HTTP_END_MS < ms) {
		ms = later_of(transfer->sated_ms, gap_ms) + HTTP_END_MS;
		*reason_r = "the answer did not end";
	}
	if (request->timeout_ms != 0 && transfer->started_ms + request->timeout_ms < ms) {
		ms = transfer->started_ms + request->timeout_ms;
		*reason_r = "the request took too long";
	}
	return ms;
}

/* Waits until something has happened. Returns -1 when it was cancelled. A model may think for
 * minutes: who has waited for a while keeps no memory for that that it can give back. */
static int
wait(struct transfer *transfer, uint64_t until_ms)
{
	uint64_t now_ms = loop_now_ms(transfer->http->loop);
	bool rests = !transfer->is_resting && until_ms > now_ms + REST_MS;
	int result = rests                    ? fiber_wait_ms(REST_MS)
		     : until_ms == UINT64_MAX ? fiber_wait()
					      : fiber_wait_ms(until_ms - now_ms);

	if (result == -1) {
		http_fail(transfer, HTTP_CANCELLED, "cancelled");
		return -1;
	}
	transfer->is_resting = result == 1;
	if (rests && result == 1)
		fiber_rest();
	return 0;
}

/* Returns 0 when curl has ended and all of the body is delivered. */
static int
exchange(struct transfer *transfer)
{
	const char *reason = NULL;
	uint64_t until_ms;
	int result = 0;

	while (result == 0) {
		until_ms = deadline_ms(transfer, &reason);
		if (!transfer->has_ended &&
		    loop_now_ms(transfer->http->loop) >= until_ms) {
			http_fail(transfer, HTTP_TIMEOUT, reason);
			result = -1;
		} else if (transfer->is_streaming && transfer->body.size > 0) {
			result = deliver(transfer);
		} else if (!transfer->has_ended) {
			result = wait(transfer, until_ms);
		} else {
			break;
		}
	}
	return result;
}

static void
end(struct transfer *transfer)
{
	if (transfer->lane != NULL)
		http_lane_remove(transfer->lane, transfer->easy);
	http_take_answer(transfer);
	curl_easy_cleanup(transfer->easy);
}

void
http_send(struct http *http, struct arena *arena, const struct http_request *request,
    struct http_response *response_r)
{
	struct transfer transfer = {
		.http = http,
		.arena = arena,
		.request = request,
		.response = response_r,
		.fiber = fiber_current(),
		.body_bytes_max = request->body_bytes_max != 0 ? request->body_bytes_max
							       : HTTP_BODY_BYTES_MAX,
		.started_ms = loop_now_ms(http->loop),
	};

	*response_r = (struct http_response){ .body = "" };
	if (begin(&transfer) == 0) {
		if (exchange(&transfer) == 0)
			http_take_failure(&transfer);
		end(&transfer);
	}
	curl_slist_free_all(transfer.headers);
	curl_slist_free_all(transfer.resolved);
	http_target_release(http->targets, &transfer.target);
	packet_release(&transfer.body);
}
