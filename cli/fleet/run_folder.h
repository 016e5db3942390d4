/* run_folder: the folder in /tmp with the sockets of one fleet (paths of sockets are limited
 * to 107 bytes). It is locked as long as its `up` lives, in whatever way that ends, so that
 * the next `up` of the same user can tell what is left behind and removes it. */
#ifndef RUN_FOLDER_H
#define RUN_FOLDER_H

struct run_folder {
	char path[32];
	int lock; /* -1: there is no folder */
};

/* Removes the folders of those that are dead, makes one for us. Returns 0, or -1 with
 * errno. */
int run_folder_new(struct run_folder *folder);

/* Removes it with the sockets in it. */
void run_folder_remove(struct run_folder *folder);

#endif
