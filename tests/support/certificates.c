#include "certificates.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "children.h"

#define WORDS_MAX 24

struct request {
	const char *name, *hosts; /* a subjectAltName, or NULL */
	const char *signer;       /* or NULL: itself */
};

static void
make(const char *folder, const struct request *request)
{
	char cert[256], key[256], subject[64], hosts[128], ca[256], ca_key[256];
	const char *argv[WORDS_MAX] = { "openssl", "req", "-x509", "-newkey", "ec",
		"-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
		"-subj", subject, "-out", cert, "-keyout", key };
	size_t count = 16;
	struct child *openssl;

	snprintf(cert, sizeof cert, "%s/%s.pem", folder, request->name);
	snprintf(key, sizeof key, "%s/%s.key", folder, request->name);
	snprintf(subject, sizeof subject, "/CN=%s", request->name);
	if (request->hosts != NULL) {
		snprintf(hosts, sizeof hosts, "subjectAltName=%s", request->hosts);
		argv[count++] = "-addext";
		argv[count++] = hosts;
	}
	if (request->signer != NULL) {
		snprintf(ca, sizeof ca, "%s/%s.pem", folder, request->signer);
		snprintf(ca_key, sizeof ca_key, "%s/%s.key", folder, request->signer);
		argv[count++] = "-CA";
		argv[count++] = ca;
		argv[count++] = "-CAkey";
		argv[count++] = ca_key;
	}
	openssl = child_spawn(argv, NULL);
	ck_assert_msg(child_wait(&openssl) == 0, "openssl: %s", request->name);
}

void
certificates_make(const char *folder)
{
	static const struct request requests[] = {
		{ "ca", NULL, NULL },
		{ "server", "IP:127.0.0.1,DNS:localhost", "ca" },
		{ "other", "DNS:other.test", "ca" },
		{ "client", NULL, "ca" },
		{ "stranger", "IP:127.0.0.1", NULL },
	};
	size_t i;

	for (i = 0; i < sizeof requests / sizeof requests[0]; i++)
		make(folder, &requests[i]);
}
