#include "sample_spec.h"

#include <check.h>
#include <string.h>

#include "yaml_file.h"

const struct value *
sample_source(struct arena *arena, const char *text)
{
	const char *error = NULL;
	struct yaml *yaml = yaml_parse(arena, "test", text, strlen(text), &error);
	const struct value *root;

	ck_assert_msg(yaml != NULL, "%s", error);
	root = yaml_root(yaml, 0);
	yaml_destroy(&yaml);
	return root;
}

const struct spec *
sample_spec(struct arena *arena, const char *text)
{
	const char *path = NULL, *error = NULL;
	const struct spec *spec =
	    spec_load(arena, sample_source(arena, text), "test", &path, &error);

	ck_assert_msg(spec != NULL, "%s: %s", path, error);
	return spec;
}
