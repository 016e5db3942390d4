#!/usr/bin/env bash
# The manifests of examples/kubernetes: checked field by field, then their pods run, by Docker in the place of kubelets
# (pods.py says what that leaves out), without keys and with: `make kubernetes-test`. The arguments are those of
# tests/compose/run.sh. Needs root, and a kubectl that Debian 12 does not have (1.22 or newer, for its kustomize).
set -uo pipefail
bin=$(cd "$1" && pwd)
mkdir -p "$2"
# shellcheck disable=SC2034 # engine.sh wants it
cache=$(cd "$2" && pwd)
cd "$(dirname "$0")/../.." || exit 1
folder=$(mktemp -d /tmp/flotilla-kubernetes.XXXXXX)
prefix=flotilla-kubernetes-test
passed=0

say() { printf '\n--- %s\n' "$*"; }
pods() { /usr/bin/python3 tests/kubernetes/pods.py "$@"; }
names() { docker ps --all --quiet --filter "network=$prefix"; }
fail() {
	echo "FAILED: $*" >&2
	for name in $(names 2>/dev/null); do
		docker inspect -f '{{.Name}} {{.State.Status}}' "$name" >&2
		docker logs --tail 4 "$name" >&2
	done
	echo "$passed passed, 1 failed"
	exit 1
}
pass() { passed=$((passed + 1)); }
wait_for() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >"$folder/said" 2>&1; do
		[ $SECONDS -lt $end ] || { echo "no sign of $what: $(cat "$folder/said")" >&2; return 1; }
		sleep 0.2
	done
}

command -v kubectl >/dev/null || fail "no kubectl"
missing=
for package in docker.io debootstrap iptables python3-yaml python3-kubernetes; do
	dpkg-query -W -f '${Status}' $package 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
	say "installing$missing"
	# shellcheck disable=SC2086 # a list
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null || exit 1
fi

# shellcheck source=tests/compose/engine.sh
. tests/compose/engine.sh
take_down() {
	# shellcheck disable=SC2046 # a list
	[ -z "$(names 2>/dev/null)" ] || docker rm --force --volumes $(names) >/dev/null
}
tear_down() {
	take_down
	docker network rm "$prefix" >/dev/null 2>&1
	engine_stop
	rm -rf "$folder"
}
trap tear_down EXIT
trap 'exit 1' INT TERM

say "the manifests have what Kubernetes knows"
kubectl kustomize examples/kubernetes >"$folder/plain.yaml" || fail "no kustomization"
mkdir "$folder/overlay"
cat >"$folder/overlay/kustomization.yaml" <<END
resources: [$(realpath --relative-to "$folder/overlay" examples/kubernetes)]
components: [$(realpath --relative-to "$folder/overlay" examples/kubernetes/keys)]
END
kubectl kustomize "$folder/overlay" >"$folder/keyed.yaml" || fail "no kustomization with keys"
pods check "$folder/plain.yaml" "$folder/keyed.yaml" || fail "fields that Kubernetes does not know"
pass

say "engine and images"
engine_start || fail "no Docker engine"
images || fail "the images cannot be built"
docker network create "$prefix" >/dev/null || fail "no network"

# What README.md has kubectl make.
mkdir -p "$folder/configmaps/tools" "$folder/configmaps/allow" "$folder/secrets/api-keys"
cp examples/tools/* "$folder/configmaps/tools/"
openssl rand -hex 24 >"$folder/secrets/api-keys/api-keys"

# brought_up FILE: its pods are there, and ready.
brought_up() {
	rm -rf "$folder/pods"
	pods start "$1" "$folder" "$prefix" || return 1
	wait_for 90 "ready pods" pods ready "$1" "$prefix"
}
inside() { docker exec -i "$prefix-$1" "${@:2}"; }
asked() {
	inside serve-x0 flotilla submit weather "How is the weather in Oslo?" --wait >"$folder/answer" 2>&1 &&
		grep -q 'take a warm coat' "$folder/answer"
}
over_http() {
	curl -sf -m 60 -H "X-Api-Key: $(cat "$folder/secrets/api-keys/api-keys")" -H 'Content-Type: application/json' \
		-d '{"assistant_id": "weather", "input": {"messages": [{"role": "user", "content": "Oslo?"}]}}' \
		"http://$(docker inspect -f "{{(index .NetworkSettings.Networks \"$prefix\").IPAddress}}" "$prefix-$1"):8123/runs/wait" |
		grep -q 'take a warm coat'
}

say "the fleet comes up, and answers"
brought_up "$folder/plain.yaml" || fail "the pods are not ready"
inside serve-x0 flotilla agents apply /dev/stdin <examples/agents/weather.yaml || fail "the agent is not taken"
asked || fail "$(cat "$folder/answer")"
for name in serve-x0 serve-x1; do over_http $name || fail "no answer over HTTP by $name"; done
inside serve-x0 flotilla top --once
pass

say "a broker, a coordinator and a worker of each kind go, and others answer"
for name in broker-0 coordinator-x0 worker-model-x0 worker-tools-x0; do
	docker stop "$prefix-$name" >/dev/null
	asked || fail "without $name: $(cat "$folder/answer")"
done
for name in broker-0 coordinator-x0 worker-model-x0 worker-tools-x0; do docker start "$prefix-$name" >/dev/null; done
wait_for 60 "ready pods" pods ready "$folder/plain.yaml" "$prefix" || fail "they do not come back"
pass

say "Redis goes, and comes back on its volume"
docker kill "$prefix-redis-0" >/dev/null && docker start "$prefix-redis-0" >/dev/null
wait_for 60 "ready pods" pods ready "$folder/plain.yaml" "$prefix" || fail "not ready again"
asked || fail "after Redis: $(cat "$folder/answer")"
pass

say "with keys"
take_down
mkdir "$folder/keys"
for name in broker coordinator worker-model worker-tools client; do
	"$bin/flotilla" keys new "$folder/keys/$name.key" >/dev/null || fail "no key"
	mkdir "$folder/secrets/key-$name"
	cp "$folder/keys/$name.key" "$folder/secrets/key-$name/own.key"
	cp "$folder/keys/broker.key.pub" "$folder/secrets/key-$name/"
done
allow() {
	"$bin/flotilla" keys allow "$folder/keys/$1.key" --allow "$folder/configmaps/allow/allow.yaml" "${@:2}" >/dev/null ||
		fail "$1 is not allowed"
}
allow broker --role client
allow coordinator --role coordinator,client
allow worker-model --role worker,client --service 'model:*'
allow worker-tools --role worker,client --service 'tool:*,tools,webhook'
allow client --role client
brought_up "$folder/keyed.yaml" || fail "the pods are not ready"
asked || fail "$(cat "$folder/answer")" # the agent and its thread are still Redis's
over_http serve-x0 || fail "no answer over HTTP"
! inside worker-tools-x0 env -u FLOTILLA_KEY flotilla health broker --wait-ms 2000 >/dev/null 2>&1 || fail "who has no key is heard"
pass

echo
echo "$passed passed, 0 failed"
