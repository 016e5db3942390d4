#include "shell_policy.h"

#include <string.h>
#include <sys/stat.h>

#include "bounds.h"
#include "shell_options.h"

#define ARGUMENTS_MAX 80u /* of bwrap */
#define USUAL_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Programs and what they are linked to; nothing of /etc that could be a secret. */
static const char *const shown[] = { "/usr", "/etc/alternatives", "/etc/ld.so.cache",
	"/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", NULL };
/* Links into /usr on Debian; folders of their own elsewhere. */
static const char *const merged[] = { "/bin", "/sbin", "/lib", "/lib32", "/lib64",
	"/libx32", NULL };

struct words {
	struct arena *arena;
	const char **items;
	size_t count;
};

static void
add(struct words *words, const char *word)
{
	words->items[words->count++] = word;
}

static void
add_pair(struct words *words, const char *option, const char *from, const char *to)
{
	add(words, option);
	add(words, from);
	add(words, to);
}

static void
add_system(struct words *words)
{
	size_t i;
	struct stat stat;

	for (i = 0; shown[i] != NULL; i++)
		add_pair(words, "--ro-bind-try", shown[i], shown[i]);
	for (i = 0; merged[i] != NULL; i++) {
		if (lstat(merged[i], &stat) == -1)
			continue;
		if (S_ISLNK(stat.st_mode))
			add_pair(words, "--symlink",
			    arena_printf(words->arena, "usr%s", merged[i]), merged[i]);
		else
			add_pair(words, "--ro-bind", merged[i], merged[i]);
	}
}

static void
add_bubblewrap(struct words *words, const char *folder)
{
	static const char *const options[] = { "bwrap", "--unshare-all",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname",
		"shell", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", NULL };
	size_t i;

	for (i = 0; options[i] != NULL; i++)
		add(words, options[i]);
	/* To the machine's root the kernel's settings are open without any capability, and in a user
	 * namespace he is still himself. core_pattern names a program that the kernel runs. */
	add_pair(words, "--ro-bind", "/proc/sys", "/proc/sys");
	add_system(words);
	add_pair(words, "--bind", folder, SHELL_SANDBOX_FOLDER);
	add(words, "--remount-ro"); /* what stands in it stays as it is */
	add(words, "/");
	add(words, "--chdir");
	add(words, SHELL_SANDBOX_FOLDER);
	add(words, "--");
}

static const char *const *
command_of(struct arena *arena, const struct value *settings, const char *folder)
{
	const struct value *command = shell_command_of(settings);
	struct words words = { .arena = arena };
	size_t i;

	words.items = arena_alloc(
	    arena, (ARGUMENTS_MAX + value_size(command) + 1) * sizeof *words.items);
	if (shell_policy_is_sandbox(settings))
		add_bubblewrap(&words, folder);
	for (i = 0; i < value_size(command); i++)
		add(&words, value_text(value_at(command, i)));
	words.items[words.count] = NULL;
	return words.items;
}

/* Of a variable that stands twice the first counts. */
static void
drop_repeated(const char **env)
{
	size_t i, j, kept = 0;

	for (i = 0; env[i] != NULL; i++) {
		size_t size = strcspn(env[i], "=") + 1;

		for (j = 0; j < kept && strncmp(env[j], env[i], size) != 0; j++)
			;
		if (j == kept)
			env[kept++] = env[i];
	}
	env[kept] = NULL;
}

static const char *const *
environment_of(struct arena *arena, const struct value *settings, const char *home)
{
	const struct value *given = value_get(settings, "env");
	const char *usual[] = { USUAL_PATH, "LANG=C.UTF-8", "TERM=dumb",
		arena_printf(arena, "HOME=%s", home) };
	size_t count = sizeof usual / sizeof *usual, i;
	const char **env =
	    arena_alloc(arena, (count + value_size(given) + 1) * sizeof *env);

	for (i = 0; i < value_size(given); i++)
		env[i] = arena_printf(arena, "%s=%s", given->pairs[i].key->text,
		    value_text(given->pairs[i].value));
	memcpy(env + i, usual, sizeof usual);
	env[i + count] = NULL;
	drop_repeated(env);
	return env;
}

bool
shell_policy_is_sandbox(const struct value *settings)
{
	return value_text_is(value_get(settings, "policy"), "bubblewrap");
}

void
shell_policy_launch(struct arena *arena, const struct value *settings, const char *folder,
    struct shell_launch *launch_r)
{
	bool sandbox = shell_policy_is_sandbox(settings);
	const char *home = sandbox ? SHELL_SANDBOX_FOLDER : folder;

	*launch_r = (struct shell_launch){
		.argv = command_of(arena, settings, folder),
		.env = environment_of(arena, settings, home),
		.directory = folder,
		.limits = {
			.cpu_seconds = (uint64_t)value_get_int(
			    settings, "cpu_time_seconds", 0),
			.memory_bytes =
			    (uint64_t)value_get_int(settings, "memory_bytes", 0),
			.file_bytes = TOOL_FILE_BYTES,
			.open_files = TOOL_OPEN_FILES,
			.processes = TOOL_PROCESSES,
		},
	};
}
