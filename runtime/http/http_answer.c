/* What curl found out, as a response. */
#include "http_transfer.h"

#include <stdlib.h>
#include <time.h>

#include "bounds.h"

static const char *
curl_reason(const struct transfer *transfer)
{
	return transfer->error[0] != '\0' ? arena_strdup(transfer->arena, transfer->error)
					  : curl_easy_strerror(transfer->code);
}

static void
fail_as_too_large(struct transfer *transfer)
{
	bool is_head = transfer->head_bytes > HTTP_HEAD_BYTES_MAX;

	http_fail(transfer, HTTP_TOO_LARGE,
	    arena_printf(transfer->arena, "the answer%s is larger than %zu bytes",
		is_head ? "'s head" : "",
		is_head ? (size_t)HTTP_HEAD_BYTES_MAX : transfer->body_bytes_max));
}

void
http_take_failure(struct transfer *transfer)
{
	switch (transfer->code) {
	case CURLE_OK:
		if (!transfer->has_head)
			http_fail(transfer, HTTP_CONNECTION, "the answer was cut short");
		return;
	case CURLE_FILESIZE_EXCEEDED:
	case CURLE_WRITE_ERROR:
		fail_as_too_large(transfer);
		return;
	case CURLE_OPERATION_TIMEDOUT:
		http_fail(transfer, HTTP_TIMEOUT, curl_reason(transfer));
		return;
	case CURLE_ABORTED_BY_CALLBACK:
	case CURLE_COULDNT_CONNECT:
		if (transfer->was_sent) {
			http_fail(transfer, HTTP_CONNECTION,
			    "the connection was closed before an answer came");
			return;
		}
		if (transfer->is_refused) {
			http_fail(
			    transfer, HTTP_CONNECTION, "the address is not allowed");
			return;
		}
		break;
	default:
		break;
	}
	http_fail(transfer, HTTP_CONNECTION, curl_reason(transfer));
}

/* Returns the header's value, lent by curl, or NULL. */
static const char *
header(const struct transfer *transfer, const char *name)
{
	struct curl_header *found;

	if (curl_easy_header(transfer->easy, name, 0, CURLH_HEADER, -1, &found) !=
	    CURLHE_OK)
		return NULL;
	return found->value;
}

/* Returns text's number times factor in milliseconds, bounded; -1 when it is none. */
static int64_t
milliseconds(const char *text, double factor)
{
	char *end;
	double ms = strtod(text, &end) * factor;

	if (end == text || *end != '\0' || !(ms >= 0))
		return -1;
	return ms < CALL_DEADLINE_MS_MAX ? (int64_t)ms : (int64_t)CALL_DEADLINE_MS_MAX;
}

static int64_t
retry_after_ms(const struct transfer *transfer)
{
	const char *text = header(transfer, "retry-after-ms");
	int64_t ms = text == NULL ? -1 : milliseconds(text, 1);
	time_t date;

	if (ms >= 0)
		return ms;
	text = header(transfer, "retry-after");
	if (text == NULL)
		return 0;
	ms = milliseconds(text, 1000);
	if (ms >= 0)
		return ms;
	date = curl_getdate(text, NULL) - time(NULL);
	if (date <= 0)
		return 0;
	return date < CALL_DEADLINE_MS_MAX / 1000 ? date * 1000 : CALL_DEADLINE_MS_MAX;
}

static const char *
info_text(const struct transfer *transfer, CURLINFO info)
{
	char *text = NULL;

	curl_easy_getinfo(transfer->easy, info, &text);
	return text == NULL ? NULL : arena_strdup(transfer->arena, text);
}

static const char *
wanted_header(const struct transfer *transfer)
{
	const char *name = transfer->request->header;
	const char *value = name == NULL ? NULL : header(transfer, name);

	return value == NULL ? NULL : arena_strdup(transfer->arena, value);
}

void
http_take_answer(struct transfer *transfer)
{
	struct http_response *response = transfer->response;

	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &response->status);
	response->content_type = info_text(transfer, CURLINFO_CONTENT_TYPE);
	response->location = info_text(transfer, CURLINFO_REDIRECT_URL);
	response->retry_after_ms = retry_after_ms(transfer);
	response->header = wanted_header(transfer);
	if (response->failure == HTTP_OK && transfer->body.size > 0) {
		response->body =
		    arena_copy(transfer->arena, transfer->body.data, transfer->body.size);
		response->body_size = transfer->body.size;
	}
}
