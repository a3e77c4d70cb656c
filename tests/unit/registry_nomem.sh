#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs registry_nomem with a registry that has a drop-in, a bad line and a plugin.
tmp=$(mktemp -d "${TMPDIR:-/tmp}/opendat-nomem-XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/dat.conf.d"
printf 'b u1\na u1.2 nonthreadsafe default %s mock.1.0 "" ""\n' "$PWD/.libs/mock_plain.so" >"$tmp/dat.conf"
printf '[a]\nkey = value\n[c]\nlibrary = l.so\nrubbish\n' >"$tmp/dat.conf.d/a.ini"
DAT_OVERRIDE=$tmp/dat.conf DAT_DBG_TYPE=0 tests/unit/registry_nomem
