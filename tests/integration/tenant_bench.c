#include "tenant_bench.h"

#include <check.h>
#include <sys/stat.h>

static struct cli_job *server;
static const char *url;

void
tenants_open(const char *const *flags)
{
	struct fleet_up *fleet = &serve_bench.fleet;
	const char *path = arena_printf(fleet->arena, "%s/serve.keys", fleet->folder);
	const char *all[8] = { "--api-keys", path };
	size_t count = 2;

	for (; flags != NULL && *flags != NULL; flags++)
		all[count++] = *flags;
	fleet_up_write(fleet, "serve.keys",
	    "0123456789abcdef-acme acme\n0123456789abcdef-other other\n"
	    "fedcba9876543210\n");
	ck_assert_int_eq(chmod(path, 0600), 0);
	url = serve_start(&server, all);
}

void
tenants_close(void)
{
	serve_stop(&server);
}

const char *
tenants_url(void)
{
	return url;
}

const char *
tenants_said(void)
{
	return cli_err(server);
}

struct serve_answer
tenants_ask(const char *key, const char *method, const char *path, const char *body)
{
	return ASK(.url = url, .method = method, .path = path, .body = body,
	    .headers = { key });
}

const struct value *
tenants_get(
    const char *key, const char *method, const char *path, const char *body, long status)
{
	struct serve_answer answer = tenants_ask(key, method, path, body);

	ck_assert_msg(answer.status == status, "%s %s: %ld: %s", method, path,
	    answer.status, answer.body);
	return answer.json;
}
