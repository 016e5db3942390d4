#!/bin/sh
# Cuts off what a SIGKILL, a power cut or a full disk has left incomplete at the end of Redis's append-only file, and
# nothing else: docs/operations.md says why, as runtime/redis_start.h does, which is this for `flotilla up`. To be run
# before each start of Redis, as its user.
#
#   redis-mend.sh FOLDER        Redis's --dir
aof=$1/appendonlydir/appendonly.aof.manifest
if [ -f "$aof" ] && ! said=$(redis-check-aof "$aof" 2>&1); then
	case $said in
	*'Expected to read '* | *'Reached EOF before reading EXEC'*) echo y | redis-check-aof --fix "$aof" ;;
	esac
fi
exit 0
