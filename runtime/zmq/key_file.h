/* key_file: CURVE key pairs in files, as czmq's zcert writes them.
 *
 *	curve
 *	    public-key = "<40 characters of Z85>"
 *	    secret-key = "<40 characters of Z85>"
 *
 * FILE has both and mode 0600; FILE.pub has the public key alone, to be given away. A key on
 * its own is written as Z85 wherever one is asked for. */
#ifndef KEY_FILE_H
#define KEY_FILE_H

#include <stdbool.h>

#define KEY_TEXT_BYTES 41u /* 40 characters and a NUL */

struct key_pair {
	char public_key[KEY_TEXT_BYTES];
	char secret_key[KEY_TEXT_BYTES];
};

/* Makes a new pair and writes FILE and FILE.pub, of which neither may exist. Returns 0 and
 * the public key, or -1 with the reason, lent until the next call of this module. */
int key_file_create(
    const char *path, char public_key_r[KEY_TEXT_BYTES], const char **error_r);

/* Reads a pair. Refused: a file that others than its owner can read, one without both keys,
 * and two keys that do not belong together. The caller wipes *pair_r (explicit_bzero).
 * Returns as above; then *pair_r is wiped.
 *
 * Two files may have a mode as of a group's. One that root lends to a group of ours, which is not root's: 0440 or 0640,
 * as Kubernetes mounts secrets where there is an fsGroup, and as PostgreSQL takes them. And a credential that systemd hands
 * to its service by an ACL (the group's bits are the ACL's mask then). It lies in $CREDENTIALS_DIRECTORY itself, it and
 * that folder belong to root and root's group, others have no access to either, nor the group to
 * write. Whoever can read it is root, of root's group, or named by root. */
int key_file_load(const char *path, struct key_pair *pair_r, const char **error_r);

/* Whether the file behind fd is as secret as that: 0, or -1 as above. For other files with keys. */
int key_file_check(const char *path, int fd, const char **error_r);

/* Takes a public key in Z85, or the path of a file that has one (FILE.pub, or FILE itself
 * where it can be read). Returns as above. */
int key_public(
    const char *key_or_path, char public_key_r[KEY_TEXT_BYTES], const char **error_r);

/* True when text is 40 characters of Z85. */
bool key_is_text(const char *text);

/* Returns path as it may be shown: "..." where it is a key itself, maybe the secret one, that was given for a file. */
const char *key_file_shown(const char *path);

#endif
