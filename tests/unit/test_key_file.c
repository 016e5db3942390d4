/* Key files: what they are, and what is refused with which words. */
#include <check.h>
#include <grp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"

/* Interface under test */
#include "key_file.h"

TCase *tcase_key_file(void);

static char *folder;
static char path[256], pub_path[264];
static char public_key[KEY_TEXT_BYTES];
static struct key_pair pair;
static const char *error;

static void
setup(void)
{
	folder = folder_new();
	snprintf(path, sizeof path, "%s/tools.key", folder);
	snprintf(pub_path, sizeof pub_path, "%s.pub", path);
	error = "";
	ck_assert_int_eq(key_file_create(path, public_key, &error), 0);
}

static void
teardown(void)
{
	folder_remove(&folder);
}

static unsigned
mode_of(const char *file)
{
	struct stat status;

	ck_assert_int_eq(stat(file, &status), 0);
	return status.st_mode & 0777;
}

static void
write_file(const char *text)
{
	FILE *out = fopen(path, "w");

	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
}

static void
expect_refusal(const char *words)
{
	ck_assert_int_eq(key_file_load(path, &pair, &error), -1);
	ck_assert_msg(strstr(error, words) != NULL, "'%s' is not in: %s", words, error);
	ck_assert_ptr_nonnull(strstr(error, path));
	for (size_t i = 0; i < sizeof pair; i++)
		ck_assert_int_eq(((const char *)&pair)[i], 0);
}

START_TEST(a_new_pair_is_read_again)
{
	ck_assert_int_eq(key_file_load(path, &pair, &error), 0);
	ck_assert_str_eq(pair.public_key, public_key);
	ck_assert(key_is_text(pair.secret_key));
	ck_assert_str_ne(pair.secret_key, public_key);
}
END_TEST

START_TEST(the_secret_is_its_owners_and_the_public_half_has_none)
{
	char text[4096] = "";
	FILE *in = fopen(pub_path, "r");

	ck_assert_uint_eq(mode_of(path), 0600);
	ck_assert_uint_eq(mode_of(pub_path), 0644);
	ck_assert_uint_gt(fread(text, 1, sizeof text - 1, in), 0);
	fclose(in);
	ck_assert_ptr_nonnull(strstr(text, public_key));
	ck_assert_ptr_null(strstr(text, "secret-key"));
}
END_TEST

START_TEST(what_is_there_is_never_written_over)
{
	char other[KEY_TEXT_BYTES];

	ck_assert_int_eq(key_file_create(path, other, &error), -1);
	ck_assert_ptr_nonnull(strstr(error, "is there already"));
	ck_assert_int_eq(key_file_load(path, &pair, &error), 0);
	ck_assert_str_eq(pair.public_key, public_key);
	unlink(path);
	ck_assert_int_eq(
	    key_file_create(path, other, &error), -1); /* the .pub is there */
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(one_that_others_can_read_is_refused)
{
	chmod(path, 0640);
	expect_refusal("chmod 600");
}
END_TEST

/* Which all may read: not that is wrong with it. */
START_TEST(the_public_half_is_no_pair)
{
	ck_assert_int_eq(key_file_load(pub_path, &pair, &error), -1);
	ck_assert_ptr_nonnull(strstr(error, "is it the public half?"));
}
END_TEST

/* What systemd does where files of credentials can have ACLs: read access for the service's user. */
static void
give_by_acl(const char *file, unsigned perm)
{
	struct {
		uint32_t version;
		struct {
			uint16_t tag, perm;
			uint32_t id;
		} entries[5];
	} acl = { 2, { { 0x01, (uint16_t)perm, UINT32_MAX }, /* the owner */
			 { 0x02, (uint16_t)perm, 970 },
			 { 0x04, 0, UINT32_MAX }, /* the group */
			 { 0x10, (uint16_t)perm,
			     UINT32_MAX }, /* the mask, shown as the group's */
			 { 0x20, 0, UINT32_MAX } } };

	if (setxattr(file, "system.posix_acl_access", &acl, sizeof acl, 0) == -1)
		ck_assert_int_eq(
		    chmod(file, (mode_t)(perm << 6 | perm << 3)), 0); /* a disk without */
	ck_assert_uint_eq(mode_of(file), perm << 6 | perm << 3);
}

START_TEST(a_credential_that_systemd_gives_by_an_acl_is_read)
{
	if (geteuid() != 0) /* a credential is root's */
		return;
	give_by_acl(path, 4);
	give_by_acl(folder, 5);
	expect_refusal("chmod 600"); /* a file as any other */
	setenv("CREDENTIALS_DIRECTORY", folder, 1);
	ck_assert_msg(key_file_load(path, &pair, &error) == 0, "%s", error);
	ck_assert_str_eq(pair.public_key, public_key);
}
END_TEST

START_TEST(what_only_looks_like_a_credential_is_refused)
{
	char other[300];
	unsigned i;
	static const struct {
		mode_t file, folder;
		uid_t file_user, folder_user;
		gid_t file_group, folder_group;
	} wrong[] = {
		{ 0444, 0550, 0, 0, 0, 0 },
		{ 0460, 0550, 0, 0, 0, 0 },
		{ 0440, 0555, 0, 0, 0, 0 },
		{ 0440, 0570, 0, 0, 0, 0 },
		{ 0440, 0550, 970, 0, 0, 0 },
		{ 0440, 0550, 0, 970, 0, 0 },
		{ 0440, 0550, 0, 0, 970, 0 },
		{ 0440, 0550, 0, 0, 0, 970 },
	};

	if (geteuid() != 0)
		return;
	setenv("CREDENTIALS_DIRECTORY", folder, 1);
	for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		ck_assert_int_eq(chown(path, wrong[i].file_user, wrong[i].file_group), 0);
		ck_assert_int_eq(
		    chown(folder, wrong[i].folder_user, wrong[i].folder_group), 0);
		chmod(path, wrong[i].file);
		chmod(folder, wrong[i].folder);
		expect_refusal("chmod 600");
	}
	ck_assert_int_eq(chown(path, 0, 0), 0);
	ck_assert_int_eq(chown(folder, 0, 0), 0);
	chmod(folder, 0750);
	/* In a folder within, and behind a link that leads out. */
	snprintf(other, sizeof other, "%s/within", folder);
	ck_assert_int_eq(mkdir(other, 0750), 0);
	snprintf(other, sizeof other, "%s/within/tools.key", folder);
	ck_assert_int_eq(rename(path, other), 0);
	ck_assert_int_eq(symlink(other, path), 0);
	expect_refusal("chmod 600");
	snprintf(path, sizeof path, "%s/within/tools.key", folder);
	expect_refusal("chmod 600");
	setenv("CREDENTIALS_DIRECTORY", "/nowhere", 1);
	expect_refusal("chmod 600");
}
END_TEST

/* Whether a process of user 970, of group, can load the file. */
static bool
loads_as(gid_t group)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(setgroups(1, &group) == -1 || setgid(970) == -1 || setuid(970) == -1
			  ? 2
			  : key_file_load(path, &pair, &error) != 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
	return WEXITSTATUS(status) == 0;
}

/* As Kubernetes mounts a secret for a pod with an fsGroup. */
START_TEST(one_that_root_lends_to_a_group_of_ours_is_read)
{
	static const struct {
		mode_t mode;
		uid_t user;
		gid_t group;
	} wrong[] = { { 0444, 0, 971 }, { 0460, 0, 971 }, { 0450, 0, 971 },
		{ 0440, 970, 971 }, { 0440, 0, 0 } };
	size_t i;

	if (geteuid() != 0)
		return;
	ck_assert_int_eq(chmod(folder, 0755), 0);
	ck_assert_int_eq(chown(path, 0, 971), 0);
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(chmod(path, i == 0 ? 0440 : 0640), 0);
		ck_assert(loads_as(971));
		ck_assert(!loads_as(972));
	}
	expect_refusal("chmod 600"); /* to root itself it is no loan */
	for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		ck_assert_int_eq(chown(path, wrong[i].user, wrong[i].group), 0);
		ck_assert_int_eq(chmod(path, wrong[i].mode), 0);
		ck_assert_msg(!loads_as(wrong[i].group), "%zu", i);
	}
}
END_TEST

START_TEST(garbage_halves_and_mixed_pairs_are_refused)
{
	char other[256], other_key[KEY_TEXT_BYTES], text[1024];
	struct key_pair second;

	write_file("");
	expect_refusal("public-key");
	write_file("public-key = \"tooshort\"\n");
	expect_refusal("public-key");
	write_file("\x01\x02\xff");
	expect_refusal("public-key");
	snprintf(text, sizeof text, "curve\n    public-key = \"%s\"\n", public_key);
	write_file(text);
	expect_refusal("secret-key");
	/* Backslashes are no Z85. */
	snprintf(text, sizeof text, "public-key = \"%s\"\nsecret-key = \"%.39s\\\"\n",
	    public_key, public_key);
	write_file(text);
	expect_refusal("secret-key");
	snprintf(other, sizeof other, "%s/other.key", folder);
	ck_assert_int_eq(key_file_create(other, other_key, &error), 0);
	ck_assert_int_eq(key_file_load(other, &second, &error), 0);
	snprintf(text, sizeof text, "public-key = \"%s\"\nsecret-key = \"%s\"\n",
	    public_key, second.secret_key);
	write_file(text);
	expect_refusal("do not belong together");
}
END_TEST

START_TEST(a_file_that_is_none_is_named)
{
	unlink(path);
	expect_refusal("No such file");
}
END_TEST

/* FLOTILLA_KEY with a key in it, as FLOTILLA_BROKER_KEY may have: it is not repeated. */
START_TEST(a_key_in_the_place_of_its_file_is_not_shown)
{
	struct key_pair own, none;

	ck_assert_int_eq(key_file_load(path, &own, &error), 0);
	ck_assert_int_eq(key_file_load(own.secret_key, &none, &error), -1);
	ck_assert_str_eq(error, "it is a key itself: a file with the pair is wanted");
	ck_assert_str_eq(key_file_shown(own.secret_key), "...");
	ck_assert_str_eq(key_file_shown(path), path);
	ck_assert_str_eq(key_file_shown("/nowhere/broker.key"), "/nowhere/broker.key");
}
END_TEST

START_TEST(a_public_key_comes_from_text_or_either_file)
{
	char found[KEY_TEXT_BYTES];

	ck_assert_int_eq(key_public(public_key, found, &error), 0);
	ck_assert_str_eq(found, public_key);
	ck_assert_int_eq(key_public(pub_path, found, &error), 0);
	ck_assert_str_eq(found, public_key);
	ck_assert_int_eq(key_public(path, found, &error), 0);
	ck_assert_str_eq(found, public_key);
	ck_assert_int_eq(key_public("nonsense", found, &error), -1);
	ck_assert_ptr_nonnull(strstr(error, "neither a public key"));
}
END_TEST

START_TEST(a_pair_that_could_not_be_written_is_not_there)
{
	const struct rlimit none = { 0, RLIM_INFINITY },
			    any = { RLIM_INFINITY, RLIM_INFINITY };
	int result;

	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(unlink(pub_path), 0);
	/* As on a full disk: files come about, and nothing goes into them. */
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
	result = key_file_create(path, public_key, &error);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &any), 0);
	ck_assert_int_eq(result, -1);
	ck_assert_ptr_nonnull(strstr(error, "tools.key cannot be written"));
	ck_assert_int_eq(access(path, F_OK), -1);
	ck_assert_int_eq(access(pub_path, F_OK), -1);
}
END_TEST

TCase *
tcase_key_file(void)
{
	TCase *tcase = tcase_create("key_file");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_new_pair_is_read_again);
	tcase_add_test(tcase, the_secret_is_its_owners_and_the_public_half_has_none);
	tcase_add_test(tcase, what_is_there_is_never_written_over);
	tcase_add_test(tcase, one_that_others_can_read_is_refused);
	tcase_add_test(tcase, the_public_half_is_no_pair);
	tcase_add_test(tcase, a_credential_that_systemd_gives_by_an_acl_is_read);
	tcase_add_test(tcase, what_only_looks_like_a_credential_is_refused);
	tcase_add_test(tcase, one_that_root_lends_to_a_group_of_ours_is_read);
	tcase_add_test(tcase, garbage_halves_and_mixed_pairs_are_refused);
	tcase_add_test(tcase, a_file_that_is_none_is_named);
	tcase_add_test(tcase, a_key_in_the_place_of_its_file_is_not_shown);
	tcase_add_test(tcase, a_public_key_comes_from_text_or_either_file);
	tcase_add_test(tcase, a_pair_that_could_not_be_written_is_not_there);
	return tcase;
}
