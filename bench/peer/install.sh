#!/bin/sh
# Puts the JavaScript peers into BUILD/peer, by npm and the versions of package.json; again when these change.
# Without npm or network: status 1, and BUILD/peer/npm.log says why.
#
#   bench/peer/install.sh BUILD
set -eu
peer=$1/peer
here=$(dirname "$0")
mkdir -p "$peer"
cp "$here"/*.mjs "$here"/*.py "$peer/"
cmp -s "$here/package.json" "$peer/installed.json" && exit 0
cp "$here/package.json" "$peer/"
(cd "$peer" && npm install --no-audit --no-fund >npm.log 2>&1) || exit 1
cp "$here/package.json" "$peer/installed.json"
