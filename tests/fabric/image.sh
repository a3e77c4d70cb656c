# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The guest's kernel and initramfs, made from Debian's packages and kept in a cache. Sourced by `lab`.
# Invariant: a folder of the cache is complete or absent, and its name is the hash of all that went into it.
# shellcheck source-path=SCRIPTDIR
. "$here/kernel.sh"

# The packages that `lab` needs, and those whose programs some tests run in the guest. quickstart installs both.
fabric_packages=(
	qemu-system-x86 busybox-static cpio kmod iproute2 util-linux make gcc xz-utils zstd
	linux-headers-amd64 linux-source
)
fabric_test_packages=(rdmacm-utils ibverbs-utils ibverbs-providers perftest libdapl2 libdapl-dev dapl2-utils procps)

# Loaded in this order by stage1, each after what it depends on. rxe cannot be added before crc32_generic is there.
fabric_modules=(
	virtio_pci virtio_console virtio_net 9pnet_virtio 9p overlay dummy tun 8021q bonding
	crc32_generic crc32c_generic libcrc32c
	ib_core ib_uverbs iw_cm rdma_cm rdma_ucm ib_umad rdma_rxe
)

# image_missing SERIES: says what the machine lacks, one line each; nothing if an image can be made
image_missing()
{
	local need
	if [ "$(uname -m)" != x86_64 ]; then
		echo "the guest is an x86-64 one and is built from Debian's amd64 packages; this is $(uname -m)"
		return
	fi
	if ! command -v apt-get >/dev/null; then
		echo "the guest is made from Debian packages, and there is no apt-get here"
		return
	fi
	for need in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio modprobe:kmod rdma:iproute2 \
		setpriv:util-linux make:make gcc:gcc xz:xz-utils zstd:zstd; do
		command -v "${need%:*}" >/dev/null || [ -x "/sbin/${need%:*}" ] ||
			echo "no ${need%:*} here: apt-get install ${need#*:}"
	done
	kernel_missing "$1"
}

# image_key HERE SERIES: comments do not count, so that a change to them does not make every image anew
image_key()
{
	{
		kernel_key "$2"
		package_version busybox-static
		sed '/^[[:space:]]*# /d' "$1/image.sh" "$1/kernel.sh" "$1/stage1"
	} | sha256sum | cut -c1-20
}

image_cache()
{
	local build=$1 dir
	for dir in "${LAB_CACHE-}" "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/opendat-lab" "$build/fabric-cache"; do
		if [ -n "$dir" ] && mkdir -p "$dir" 2>/dev/null && [ -w "$dir" ]; then
			printf '%s' "$dir"
			return
		fi
	done
	return 1
}

# image_prepare HERE BUILD SERIES: makes the image unless it is cached, and sets image_dir to its folder, in which the file `hz` has
# the kernel's rate of timer interrupts, and `name` its name. No series means that of the installed headers.
image_prepare()
{
	local here=$1 build=$2 series=$3 cache key missing work
	missing=$(image_missing "$series")
	if [ -n "$missing" ]; then
		sed 's/^/lab: /' <<<"$missing" >&2
		return 77
	fi
	cache=$(image_cache "$build") || { echo "lab: no writable folder for the guest's image: set LAB_CACHE" >&2; return 1; }
	key=$(image_key "$here" "$series")
	image_dir=$cache/$key
	[ ! -d "$image_dir" ] || return 0
	exec 9>"$cache/.lock"
	flock 9
	if [ ! -d "$image_dir" ]; then
		work=$(mktemp -d "$cache/.making.XXXXXX") || return 1
		echo "lab: making the guest's image for Linux ${series:-$(kernel_installed)} (once): log in $image_dir.log" >&2
		if ! image_make "$here" "$series" "$work" >"$image_dir.log" 2>&1; then
			tail -n 15 "$image_dir.log" | sed 's/^/lab: | /' >&2
			echo "lab: the guest's image could not be made: all of it is in $image_dir.log" >&2
			rm -rf "$work"
			exec 9>&-
			return 77
		fi
		image_forget_old "$cache"
		mv "$work" "$image_dir"
	fi
	exec 9>&-
}

# Images of other keys are kept for a week: other trees of the same user may be using them.
image_forget_old()
{
	find "$1" -mindepth 1 -maxdepth 1 -mtime +7 ! -name .lock -exec rm -rf {} +
}

image_make()
{
	local here=$1 series=$2 work=$3 kernel kernel_root
	(
		set -x
		kernel_fetch "$series" "$work/deb" &&
			image_build_siw "$work/siw" &&
			image_pack "$here" "$work" &&
			rm -rf "$work/deb" "$work/siw" "$work/ramfs"
	)
}

# siw is in the kernel's source, but not in Debian's kernel. Type information for BPF would need pahole and is left out.
image_build_siw()
{
	local dir=$1
	mkdir -p "$dir" &&
		tar xJf "$(kernel_source "$kernel" "$kernel_root")" -C "$dir" --strip-components=5 --wildcards '*/drivers/infiniband/sw/siw/*' &&
		image_mend_siw "$dir/siw_cm.c" &&
		image_slow_siw "$dir/siw_cm.c" &&
		image_slow_send "$dir/siw_qp_tx.c" &&
		image_slow_place "$dir/siw_qp_rx.c" &&
		make -C "$kernel_root/usr/src/linux-headers-$kernel" M="$dir" CONFIG_RDMA_SIW=m CONFIG_DEBUG_INFO_BTF_MODULES= modules
}

# Corrects a bug of siw. A TCP connection that siw has not accepted yet still has the callbacks of its listener. If it is closed,
# siw takes that for the end of the listener, and frees the listener, which rdma_cm still uses. From then on the port refuses
# connections, and destroying the listener makes the kernel write to freed memory. A peer that connects by TCP and closes at once
# is enough, such as a port scan or a client that is killed, and the listening program cannot prevent it. With the correction, siw
# ignores the event, accepts the connection, and then finds that it has ended.
# And a second one: the reply to a request may be refused before its private data have been read. siw reports their length all the
# same, and the kernel copies that many bytes from nowhere and panics. A peer that answers with a bad header is enough.
image_mend_siw()
{
	sed -i '/^static int siw_cm_upcall/,/^}/s/^\t\tif (pd_len) {$/\t\tif (pd_len \&\& cep->mpa.pdata) {/' "$1"
	sed -i '/^static void siw_cm_llp_state_change(struct sock \*sk)$/,/^}/s/^\tcase TCP_CLOSE_WAIT:$/&\n\t\tif (cep->state == SIW_EPSTATE_LISTENING)\n\t\t\tbreak;/' "$1"
}

# Adds module parameters to siw. On each side there is an instant in which siw gets no notice of incoming data: on the passive side
# after it has sent the MPA reply, on the active side after it has read the reply. deaf_passive_ms and deaf_active_ms lengthen the
# two, so that a test can be sure to hit them. Our providers work around this. Tests that run other implementations over siw set
# looks_again: then the passive side reads its socket once after that instant. By default all three do nothing.
image_slow_siw()
{
	sed -i \
		-e '0,/^#include <linux\/errno.h>/s//#include <linux\/delay.h>\n#include <linux\/module.h>\n&/' \
		-e '0,/^static /s//static int deaf_passive_ms, deaf_active_ms;\nstatic bool looks_again;\nmodule_param(deaf_passive_ms, int, 0644);\nmodule_param(deaf_active_ms, int, 0644);\nmodule_param(looks_again, bool, 0644);\n\nstatic void siw_look_again(struct sock *sk)\n{\n\tlock_sock(sk);\n\tlocal_bh_disable();\n\tsk->sk_data_ready(sk);\n\tlocal_bh_enable();\n\trelease_sock(sk);\n}\n\n&/' \
		-e '/^int siw_accept/,/^}/s/^\t\tsiw_qp_socket_assoc(cep, qp);$/&\n\t\tif (looks_again)\n\t\t\tsiw_look_again(cep->sock->sk);/' \
		-e 's/^\tif (wait_for_peer_rts) {$/\tif (deaf_passive_ms)\n\t\tmsleep(deaf_passive_ms);\n&/' \
		-e '/^static int siw_proc_mpareply/,/^}/s/^\tsiw_qp_socket_assoc(cep, qp);$/&\n\tif (deaf_active_ms)\n\t\tmsleep(deaf_active_ms);/' \
		"$1"
}

# If a connection ends just after the last segment of a message has been sent, siw completes the message with an error although the
# peer has received it. The module parameter slow_send_ms lengthens the time between that segment and the completion.
image_slow_send()
{
	sed -i \
		-e '0,/^#include <linux\/errno.h>/s//#include <linux\/delay.h>\n#include <linux\/module.h>\n&/' \
		-e '0,/^static /s//static int slow_send_ms;\nmodule_param(slow_send_ms, int, 0644);\n\n&/' \
		-e 's/^\t\trv = siw_tx_hdt(c_tx, s);$/&\n\t\tif (!rv \&\& slow_send_ms)\n\t\t\tmsleep(slow_send_ms);/' \
		"$1"
}

# siw checks that a region is valid, and then copies a part of the incoming data into it. The module parameter slow_place_ms
# lengthens the time between the two. It waits in a loop and does not sleep, because preemption is disabled there.
image_slow_place()
{
	sed -i \
		-e '0,/^#include <linux\/errno.h>/s//#include <linux\/delay.h>\n#include <linux\/module.h>\n&/' \
		-e '/^static int siw_rx_umem/,/^}/s/^\tint copied = 0;$/&\n\n\tif (slow_place_ms)\n\t\tmdelay(slow_place_ms);/' \
		-e '0,/^static /s//static int slow_place_ms;\nmodule_param(slow_place_ms, int, 0644);\n\n&/' \
		"$1"
}

image_pack()
{
	local here=$1 work=$2 module path
	mkdir -p "$work"/ramfs/{bin,modules,proc,sys,dev,host,upper,root} || return
	cp /bin/busybox "$work/ramfs/bin/" && cp "$here/stage1" "$work/ramfs/init" && chmod 755 "$work/ramfs/init" || return
	for module in "${fabric_modules[@]}"; do
		modprobe -d "$work/deb" -S "$kernel" -D "$module" || return
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/paths" || return
	while read -r path; do
		cp "$path" "$work/ramfs/modules/" || return
		basename "$path"
	done <"$work/paths" >"$work/ramfs/modules/order"
	cp "$work/siw/siw.ko" "$work/ramfs/modules/" && echo siw.ko >>"$work/ramfs/modules/order" || return
	echo "$kernel" >"$work/name" &&
		sed -n 's/^CONFIG_HZ=//p' "$kernel_root/usr/src/linux-headers-$kernel/.config" >"$work/hz" || return
	(cd "$work/ramfs" && find . | cpio -o -H newc --owner 0:0) >"$work/initrd" &&
		image_unpack_kernel "$work/deb/boot/vmlinuz-$kernel" "$work/kernel" && rm "$work/paths"
}

# Unpacks the kernel here, because under emulation it takes long to unpack itself. The boot header says where the packed kernel
# begins (Documentation/arch/x86/boot.rst in the kernel's source). Debian packs Linux 6.1 with xz and 6.12 with zstd. What is packed
# in another way is left as it is.
image_unpack_kernel()
{
	local from=$1 to=$2 sectors offset unpack
	sectors=$(od -An -tu1 -j 497 -N 1 "$from")
	offset=$(od -An -tu4 -j 584 -N 4 "$from")
	for unpack in "xz -dc --single-stream" "zstd -dcq"; do
		# shellcheck disable=SC2086 # a command and its options
		tail -c +$(((sectors + 1) * 512 + offset + 1)) "$from" | $unpack >"$to" 2>/dev/null
		[ "$(head -c 4 "$to" | tail -c 3)" != ELF ] || return 0
	done
	cp "$from" "$to"
}
