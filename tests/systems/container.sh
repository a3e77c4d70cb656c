#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# packaging/Containerfile: buildah makes an image of it, and programs use soft0 in there as an ordinary user. Use: container.sh
# BUILD-TREE. No registry is asked: the image that it begins from is a Debian made from the archive that apt uses on this machine.
set -u
top_srcdir=$(cd "$(dirname "$0")/../.." && pwd -P)
build=$(cd "${1:?usage: container.sh BUILD-TREE}" && pwd -P) || exit 2
file=$top_srcdir/packaging/Containerfile
. "$top_srcdir/tests/systems/archive.sh"
place=$build/systems/container
base=$(sed -nE 's/^FROM ([^ ]+)$/\1/p' "$file")

# The image is made from scratch each time, from files in a folder of its own that is removed afterwards.
in_buildah()
{
	local command=$1
	shift
	BUILDAH_ISOLATION=chroot buildah --root "$place/store" --runroot "$place/run" "$command" "$@"
}

base_is_made()
{
	local container
	mmdebstrap --quiet --variant=minbase --mode=root "$suite" "$place/base.tar" "$archive" &&
		container=$(in_buildah from scratch) && in_buildah add "$container" "$place/base.tar" / &&
		in_buildah commit --rm "$container" "$base"
}

image_is_built()
{
	in_buildah bud --pull-never -t opendat -f "$file" "$top_srcdir"
}

# in_image COMMAND...: runs the command in a container of the image, as the user of the image
in_image()
{
	in_buildah run "$container" -- "$@"
}

needs_root_and_archive
command -v buildah >/dev/null || skip "no buildah here: apt-get install buildah"
rm -rf "$place" && mkdir -p "$place" || exit

. "$top_srcdir/tests/harness/tap.sh"
trap 'rm -rf "$tap_dir" "$place"' EXIT
tap 'container: the image to begin from is made' base_is_made || tap_end
tap 'container: the image is built' image_is_built || tap_end
container=$(in_buildah from --pull-never opendat)
tap 'container: programs are not root' tap_holds '^[1-9]' in_image id -u
tap 'container: neither compiler nor sources are there' in_image sh -c '! command -v cc && ! [ -e /usr/src/opendat ]'
tap 'container: datctl lists soft0' tap_holds '^soft0' in_image datctl list
tap 'container: datctl ping soft0' in_image datctl ping soft0
tap 'container: datperf measures and verifies' in_image datperf --ia soft0 --test send-lat --iters 100
tap_end
