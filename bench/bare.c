#include "bare.h"

#include <curl/curl.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "line.h"
#include "loop.h"
#include "memory.h"

#define REQUESTS 9u
#define HEAD_BYTES 190u /* as our workers send it, about */
#define URL_BYTES 64u

struct bare {
	CURL *curl;
	struct curl_slist *head;
	char url[URL_BYTES];
};

static size_t
ignore(char *data, size_t size, size_t count, void *arg)
{
	(void)data;
	(void)arg;
	return size * count;
}

struct bare *
bare_new(unsigned port)
{
	struct bare *bare = xcalloc(1, sizeof *bare);

	bare->curl = curl_easy_init();
	bare->head = curl_slist_append(NULL, "Content-Type: application/json");
	if (bare->curl == NULL || bare->head == NULL)
		errx(EXIT_FAILURE, "libcurl");
	snprintf(
	    bare->url, sizeof bare->url, "http://127.0.0.1:%u/v1/chat/completions", port);
	curl_easy_setopt(bare->curl, CURLOPT_URL, bare->url);
	curl_easy_setopt(bare->curl, CURLOPT_HTTPHEADER, bare->head);
	curl_easy_setopt(bare->curl, CURLOPT_WRITEFUNCTION, ignore);
	bare_ms(bare, 0); /* connects */
	return bare;
}

void
bare_destroy(struct bare **bare_p)
{
	struct bare *bare = *bare_p;

	curl_easy_cleanup(bare->curl);
	curl_slist_free_all(bare->head);
	free(bare);
	*bare_p = NULL;
}

/* A conversation of so many bytes that is at its end. */
static char *
body_of(size_t bytes)
{
	static const char begin[] = "{\"model\":\"bench\",\"messages\":[{\"role\":"
				    "\"assistant\",\"content\":\"a\"},"
				    "{\"role\":\"assistant\",\"content\":\"b\"},{"
				    "\"role\":\"assistant\",\"content\":"
				    "\"c\"},{\"role\":\"user\",\"content\":\"";
	static const char end[] = "\"}]}";
	size_t fixed = sizeof begin + sizeof end - 2,
	       size = bytes > fixed ? bytes : fixed;
	char *body = xcalloc(size + 1, 1);

	memset(body, 'x', size);
	memcpy(body, begin, sizeof begin - 1);
	memcpy(body + size - (sizeof end - 1), end, sizeof end - 1);
	return body;
}

double
bare_ms(struct bare *bare, size_t bytes)
{
	char *body = body_of(bytes > HEAD_BYTES ? bytes - HEAD_BYTES : 0);
	double times_ms[REQUESTS];
	size_t i;

	curl_easy_setopt(bare->curl, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
	curl_easy_setopt(bare->curl, CURLOPT_POSTFIELDS, body);
	for (i = 0; i < REQUESTS; i++) {
		uint64_t began_us = loop_now_us();
		CURLcode code = curl_easy_perform(bare->curl);

		if (code != CURLE_OK)
			errx(
			    EXIT_FAILURE, "a bare request: %s", curl_easy_strerror(code));
		times_ms[i] = (double)(loop_now_us() - began_us) / 1e3;
	}
	free(body);
	qsort(times_ms, REQUESTS, sizeof *times_ms, line_by_size);
	return times_ms[REQUESTS / 2];
}
