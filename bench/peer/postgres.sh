# shellcheck shell=sh disable=SC2034 # what it sets is for who sources it
# PostgreSQL in a new folder, reached by a Unix socket there and by nothing else; sourced.
#
#	start_postgres FOLDER      0, or not: no package, or it does not start; then $postgres_missing says it
#	stop_postgres              nothing when it was not started
#	$postgres_version, $postmaster (its process), while it runs

postgres_bin=$(find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
postgres_bin=${postgres_bin%/initdb}
postgres_folder=
postgres_missing='no PostgreSQL (Debian package postgresql)'

# It refuses to be run by root.
as_postgres() {
	if [ "$(id -u)" = 0 ]; then
		(cd / && runuser -u postgres -- "$@")
	else
		"$@"
	fi
}

# No checkpoint falls into a measurement by chance.
start_postgres() {
	[ -n "$postgres_bin" ] || return 1
	[ "$(id -u)" != 0 ] || chown postgres "$1" || return 1
	as_postgres "$postgres_bin/initdb" -D "$1/data" -U postgres -A trust >"$1/initdb.log" 2>&1 || return 1
	as_postgres "$postgres_bin/pg_ctl" -D "$1/data" -w -l "$1/log" -o "-k $1 -c listen_addresses='' \
		-c max_wal_size=8GB -c checkpoint_timeout=1h" start >/dev/null || return 1
	postgres_folder=$1
	postmaster=$(head -n 1 "$1/data/postmaster.pid")
	postgres_version=$("$postgres_bin/postgres" --version)
}

stop_postgres() {
	[ -z "$postgres_folder" ] ||
		as_postgres "$postgres_bin/pg_ctl" -D "$postgres_folder/data" -m fast -w stop >/dev/null 2>&1 || true
	postgres_folder=
}
