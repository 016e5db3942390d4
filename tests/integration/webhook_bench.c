#include "webhook_bench.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "json.h"
#include "kit_clock.h"

#define WAIT_MS 60000u

static const char agents[] = "name: echo\n"
			     "model: scripted:s\n"
			     "script:\n"
			     "  s:\n"
			     "    - content: Done.\n";

static void
play_main(struct fleet_client *client, void *arg)
{
	struct scene *scene = arg;

	scene->client = client;
	scene->play(scene);
}

void
webhook_act(
    void (*play)(struct scene *scene), const char *webhooks, const char *unserved_ms)
{
	struct scene scene = { .arena = arena_new(),
		.kit = kit_new(),
		.server = tiny_http_new(),
		.play = play };

	kit_have_clock(scene.kit);
	kit_flag(scene.kit, KIT_TOOLS, "--webhooks", webhooks);
	kit_env(scene.kit, KIT_TOOLS, "FLOTILLA_WEBHOOK_SECRET=" SECRET);
	kit_flag(scene.kit, KIT_COORDINATOR, "--webhook-attempts", "3");
	kit_flag(scene.kit, KIT_COORDINATOR, "--webhook-wait-ms", "100");
	if (unserved_ms != NULL)
		kit_flag(
		    scene.kit, KIT_COORDINATOR, "--webhook-unserved-ms", unserved_ms);
	kit_start_all(scene.kit, 1, 1, 1);
	kit_flotilla(scene.kit, "agents", "apply",
	    kit_write(scene.kit, "agents.yaml", agents), NULL);
	client_run(kit_redis(scene.kit), play_main, &scene);
	kit_destroy(&scene.kit);
	tiny_http_destroy(&scene.server);
	arena_destroy(&scene.arena);
}

void
webhook_answer_with(struct scene *scene, const char *bytes)
{
	tiny_http_add(
	    scene->server, &(struct tiny_answer){ .bytes = bytes, .end = TINY_KEEP });
}

void
webhook_submit_to(
    struct scene *scene, const char *agent, const char *run, const char *after_ms)
{
	struct arena *arena = scene->arena;

	client_submit(scene->client, arena,
	    value_map(arena, "agent", value_str(arena, agent), "run",
		value_str(arena, run), "input", value_str(arena, "\"a secret\""),
		"context", value_str(arena, "{\"token\": \"a secret\"}"), "metadata",
		value_str(arena, "{\"order\": 7}"), "after_ms",
		value_str(arena, after_ms), "webhook",
		value_printf(arena, "http://127.0.0.1:%u/ends?of=runs",
		    tiny_http_port(scene->server)),
		NULL));
}

void
webhook_submit(struct scene *scene, const char *run, const char *after_ms)
{
	webhook_submit_to(scene, "echo", run, after_ms);
}

const struct value *
webhook_record(struct scene *scene, const char *run)
{
	const struct value *record = NULL;

	store_run(scene->client->store, scene->arena, run, run, &record);
	return record;
}

struct wanted {
	struct scene *scene;
	const char *run, *field, *text;
};

static bool
has_text(void *arg)
{
	const struct wanted *wanted = arg;
	const char *text =
	    value_get_text(webhook_record(wanted->scene, wanted->run), wanted->field);

	return text != NULL && strstr(text, wanted->text) != NULL;
}

const struct value *
webhook_wait_text(
    struct scene *scene, const char *run, const char *field, const char *text)
{
	struct wanted wanted = { scene, run, field, text };

	ck_assert_msg(client_wait(scene->client, has_text, &wanted, WAIT_MS),
	    "%s: never was %s '%s', but %s", run, field, text,
	    json_text(scene->arena, webhook_record(scene, run)));
	return webhook_record(scene, run);
}

const char *
webhook_request(struct scene *scene, unsigned index)
{
	char *bytes = tiny_http_request(scene->server, index);
	const char *text;

	ck_assert_msg(bytes != NULL, "no request %u", index);
	text = arena_strdup(scene->arena, bytes);
	free(bytes);
	return text;
}

const struct value *
webhook_body_of(struct scene *scene, const char *text)
{
	const char *body = strstr(text, "\r\n\r\n"), *error = NULL;
	const struct value *value;

	ck_assert_ptr_nonnull(body);
	value = json_parse(scene->arena, body + 4, strlen(body + 4), &error);
	ck_assert_msg(value != NULL, "%s: %s", text, error);
	return value;
}
