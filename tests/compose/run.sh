#!/usr/bin/env bash
# docker-compose.yml brought up for real, and parts of it killed: `make compose-test`. The arguments are
# the folder of our programs for this machine, and a folder that is kept for the next time. Needs root,
# since it may start a Docker engine; takes all down that it brought up, also when it fails.
set -uo pipefail
bin=$(cd "$1" && pwd)
mkdir -p "$2"
cache=$(cd "$2" && pwd)
cd "$(dirname "$0")/../.." || exit 1
folder=$(mktemp -d /tmp/flotilla-compose.XXXXXX)

say() { printf '\n--- %s\n' "$*"; }
fail() {
	echo "FAILED: $*" >&2
	[ ! -s "$folder/build.log" ] || tail -n 5 "$folder/build.log" >&2
	! command -v compose_logs >/dev/null || compose_logs >&2
	echo "0 passed, 1 failed"
	exit 1
}

# wait_for SECONDS WHAT COMMAND...: until the command succeeds.
wait_for() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { echo "no sign of $what" >&2; return 1; }
		sleep 0.2
	done
}

missing=
for package in docker.io docker-compose debootstrap iptables; do
	dpkg-query -W -f '${Status}' $package 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
	say "installing$missing"
	# shellcheck disable=SC2086 # a list
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null || exit 1
fi

# shellcheck source=tests/compose/engine.sh
. tests/compose/engine.sh
fleet_is_up=
declare -A pids # of submissions that wait
tear_down() {
	local run
	for run in "${pids[@]}"; do kill "$run" 2>/dev/null; done
	[ -z "$fleet_is_up" ] || docker-compose down --volumes --timeout 5 >/dev/null 2>&1
	engine_stop
	rm -rf "$folder"
}
trap tear_down EXIT
trap 'exit 1' INT TERM

# Off the usual ports: this machine may run another fleet.
export COMPOSE_PROJECT_NAME=flotilla-test REDIS_PORT=16379 BROKER_PORT=17700 STATUS_PORT=17701
export BROKER_2_PORT=17710 STATUS_2_PORT=17711
export TOOLS=./tests/compose/tools
flotilla() { "$bin/flotilla" "$@" --redis "redis://127.0.0.1:$REDIS_PORT"; }
compose_logs() { [ -z "$fleet_is_up" ] || docker-compose logs --no-color --tail 20; }
# A container of a service that runs: `docker-compose ps` names those that were killed, too.
container() {
	docker ps --quiet --no-trunc --filter "label=com.docker.compose.project=$COMPOSE_PROJECT_NAME" \
		--filter "label=com.docker.compose.service=$1" | head -n 1
}
inside() { docker exec "$(container worker-tools)" "$@"; }

all_healthy() {
	local id
	for id in $(docker-compose ps -q); do
		[ "$(docker inspect -f '{{.State.Health.Status}}' "$id")" = healthy ] || return 1
	done
}

# The process in a container dies, as it does when it crashes: the engine has to start it again.
crash() { docker exec "$1" sh -c 'kill -9 $(cat /proc/1/task/1/children)'; }
restarts() { docker inspect -f '{{.RestartCount}}' "$1"; }
came_back() { [ "$(restarts "$1")" -gt "$2" ] && [ "$(docker inspect -f '{{.State.Running}}' "$1")" = true ]; }

# started RUN COUNT: the tool of a run has been started so often.
started() { [ "$(inside grep -c "^$1 " /workspace/started)" -ge "$2" ]; }

submit() { flotilla submit linger "Please wait." --run-id "$1" --thread "$1" --wait >"$folder/$1.out" 2>&1; }
submit_later() {
	submit "$1" &
	pids[$1]=$!
}
must_end() {
	wait "${pids[$1]}" || fail "$1 ended with status $?: $(cat "$folder/$1.out")"
}

say "engine and images"
engine_start || fail "no Docker engine"
images || fail "the images cannot be built"
docker image ls flotilla

say "docker-compose up --scale worker-model=3 --scale worker-tools=5"
fleet_is_up=1
docker-compose up -d --no-build --scale worker-model=3 --scale worker-tools=5 --scale coordinator=2 \
	>"$folder/up.log" 2>&1 || fail "$(tail -n 5 "$folder/up.log")"
wait_for 120 "a healthy fleet" all_healthy || fail "$(docker-compose ps)"

say "the image has neither root nor a compiler, and cannot write to itself"
[ "$(inside id -u)" != 0 ] || fail "tools run as root"
inside sh -c '! command -v cc gcc make ld' || fail "the image has a compiler"
said=$(docker exec -u 0 "$(container worker-tools)" touch /opt/flotilla/x 2>&1)
[[ $said == *Read-only* ]] || fail "the root can be written to: $said"
reaches_redis() { docker exec "$(container "$1")" bash -c 'echo >/dev/tcp/redis/6379' 2>/dev/null; }
reaches_redis coordinator || fail "a coordinator does not reach Redis"
! reaches_redis worker-model || fail "a worker reaches Redis"

say "a run from outside ends"
flotilla agents apply tests/compose/linger.yaml || fail "the agent is not taken"
inside touch /workspace/go || fail "no workspace"
submit first || fail "$(cat "$folder/first.out")"
grep -q 'It is done.' "$folder/first.out" || fail "$(cat "$folder/first.out")"

say "a killed worker's call goes on elsewhere"
inside rm /workspace/go
submit_later moved
wait_for 30 "the tool" started moved 1 || fail "the tool never started"
victim=$(inside sh -c 'sed -n "s/^moved //p" /workspace/started')
# `inside` asks the first container that is left.
docker kill "$victim" >/dev/null
wait_for 30 "the tool, again" started moved 2 || fail "the call was not given to another worker"
inside touch /workspace/go
must_end moved
second=$(inside sh -c 'sed -n "s/^moved //p" /workspace/started | tail -n 1')
[ "$second" != "$victim" ] || fail "the dead container's call ran there"
flotilla state moved --json | grep -q "\"$second" || fail "the answer is not the second worker's"
docker start "$victim" >/dev/null

say "a killed coordinator's runs go on in the other"
inside rm /workspace/go
for n in $(seq 10); do submit_later "taken-$n"; done
for n in $(seq 10); do wait_for 30 "the tool" started "taken-$n" 1 || fail "taken-$n never started"; done
victim=$(container coordinator)
docker kill "$victim" >/dev/null
inside touch /workspace/go
for n in $(seq 10); do must_end "taken-$n"; done
docker start "$victim" >/dev/null

say "what crashes is started again"
for service in broker coordinator worker-model worker-tools; do
	victim=$(container $service)
	before=$(restarts "$victim")
	crash "$victim"
	wait_for 60 "$service" came_back "$victim" "$before" || fail "$service stayed down"
done
wait_for 120 "a healthy fleet" all_healthy || fail "$(docker-compose ps)"
submit after-crashes || fail "$(cat "$folder/after-crashes.out")"

say "a rolling restart under load"
round() { for n in $(seq 10); do submit_later "rolling-$1-$n"; done; }
for service in broker worker-model worker-tools coordinator redis; do
	round $service
	docker-compose restart --timeout 60 $service >"$folder/restart.log" 2>&1 || fail "$(cat "$folder/restart.log")"
done
for service in broker worker-model worker-tools coordinator redis; do
	for n in $(seq 10); do must_end "rolling-$service-$n"; done
done
wait_for 120 "a healthy fleet" all_healthy || fail "$(docker-compose ps)"

say "everything stops and starts again on the same data"
docker-compose stop --timeout 60 >/dev/null 2>&1 || fail "it does not stop"
docker-compose start >/dev/null 2>&1 || fail "it does not start"
wait_for 120 "a healthy fleet" all_healthy || fail "$(docker-compose ps)"
flotilla state first --json | grep -q 'It is done.' || fail "the first run is gone"

say "a second broker carries on while the first one is away"
export COMPOSE_FILE=docker-compose.yml:examples/compose/two-brokers.yml
docker-compose up -d --no-build --scale worker-model=3 --scale worker-tools=5 --scale coordinator=2 \
	>"$folder/up.log" 2>&1 || fail "$(tail -n 5 "$folder/up.log")"
wait_for 120 "a healthy fleet" all_healthy || fail "$(docker-compose ps)"
for victim in broker broker-2; do
	round "without-$victim"
	docker kill "$(container $victim)" >/dev/null
	for n in $(seq 10); do must_end "rolling-without-$victim-$n"; done
	docker start "$(docker-compose ps -a -q $victim)" >/dev/null
	wait_for 120 "a healthy fleet" all_healthy || fail "$(docker-compose ps)"
done

echo
echo "8 passed, 0 failed"
