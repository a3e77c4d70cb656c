#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Our providers and OFED's (Debian's libdapl2) connect to each other, with either one as the client, over both devices. In one
# guest. wire_test.sh --as NAME runs the tests over the link of an imitated device, which both sides have.
# shellcheck source-path=SCRIPTDIR
. "$top_srcdir/tests/fabric/rdma.sh"

ours=tests/fabric/wire12
ofed=tests/fabric/wire20
imitate=$top_srcdir/tests/fabric/imitate
imitated=()	# `imitate NAME` where the devices of both sides are to behave as another one
qual=2000

# side WHO ARGUMENT...: sets command, which runs wire.c for this side. OFED needs a dat.conf in its own format.
side()
{
	local who=$1
	shift
	case $who in
	ours-ib) command=("${imitated[@]}" timeout -k 5 100 $ours ib-rxe0 "$@") ;;
	ours-iw) command=("${imitated[@]}" timeout -k 5 100 $ours iwarp-siw0 "$@") ;;
	# programs of 2.0, as those of OFED's side, on our libdat2
	our2-ib) command=(env LD_LIBRARY_PATH="$PWD/.libs" timeout -k 5 100 $ofed ib-rxe0 "$@") ;;
	our2-iw) command=(env LD_LIBRARY_PATH="$PWD/.libs" timeout -k 5 100 $ofed iwarp-siw0 "$@") ;;
	ofed-ib) command=("${imitated[@]}" env DAT_OVERRIDE="$LAB_OFED_CONF" timeout -k 5 100 $ofed ofa-rxe0 "$@") ;;
	ofed-iw) command=("${imitated[@]}" env DAT_OVERRIDE="$LAB_OFED_CONF" timeout -k 5 100 $ofed ofa-siw0 "$@") ;;
	esac
}

have_both()
{
	[ -x $ofed ] || { skips 'built without OFED: install libdapl-dev and configure again'; return 1; }
}

# conversation CLIENT SERVER ADDRESS serve|reject [QUAL]: runs both sides. The server's stdout is in $dir/server, and the private
# data of its reply are $answer.
answer='from the server'
conversation()
{
	local number=$5 server
	[ -n "$number" ] || number=$((qual += 1))
	side "$2" "$4" "$number" "$answer"
	: >"$dir/server"
	"${command[@]}" >"$dir/server" 2>"$dir/server.err" &
	server=$!
	# The kernel shows an id as listening shortly before it accepts requests, so the server's own line is awaited.
	until_printed '^listening$' $server "$dir/server" || return
	side "$1" "$3" "$number" 'from the client'
	run "${command[@]}"
	wait $server || fails "the server: $(tail -n 3 "$dir/server.err" | tr '\n' ' ')"
	out="$dir/server" prints '^requested with: [0-9]+ bytes: from the client'
}

talks()
{
	conversation "$1" "$2" "$3" serve "${4-}"
	exits_with 0
	prints '^accepted with: [0-9]+ bytes: from the server'
	prints '^read: 65536 bytes$'
	prints '^disconnected$'
	out="$dir/server" prints '^written: 65536 bytes$'
	out="$dir/server" prints '^read back: 65536 bytes$'
	out="$dir/server" prints '^disconnected$'
}

our_client_talks_to_our_server_with_exact_private_data()
{
	talks ours-ib ours-ib "$LAB_IB"
	prints '^accepted with: 15 bytes: from the server$'
	out="$dir/server" prints '^requested with: 15 bytes: from the client$'
	talks ours-iw ours-iw "$LAB_IW"
	prints '^accepted with: 15 bytes: from the server$'
	out="$dir/server" prints '^requested with: 15 bytes: from the client$'
}

our_client_talks_to_an_ofed_server_over_rxe()
{
	have_both || return 0
	talks ours-ib ofed-ib "$LAB_IB"
}

an_ofed_client_talks_to_our_server_over_rxe()
{
	have_both || return 0
	talks ofed-ib ours-ib "$LAB_IB"
}

our_client_talks_to_an_ofed_server_over_siw()
{
	have_both || return 0
	talks ours-iw ofed-iw "$LAB_IW"
	prints '^accepted with: 15 bytes: from the server$'
}

# OFED's client sends as soon as it is connected. siw may miss such a message unless `looks_again` is set.
an_ofed_client_talks_to_our_server_over_siw()
{
	have_both || return 0
	echo 1 >/sys/module/siw/parameters/looks_again
	talks ofed-iw ours-iw "$LAB_IW"
	echo 0 >/sys/module/siw/parameters/looks_again
	out="$dir/server" prints '^requested with: 15 bytes: from the client$'
}

# Both libraries map a qualifier above 65535 to the same port.
a_long_connection_qualifier_meets_the_same_port()
{
	have_both || return 0
	talks ours-ib ofed-ib "$LAB_IB" 0x123456789
	talks ofed-ib ours-ib "$LAB_IB" 0x987654321
}

a_rejection_by_an_ofed_server_is_the_peers()
{
	have_both || return 0
	conversation ours-ib ofed-ib "$LAB_IB" reject ""
	exits_with 0
	prints '^peer rejected$'
}

a_rejection_by_our_server_is_the_peers_for_ofed()
{
	have_both || return 0
	conversation ofed-ib ours-ib "$LAB_IB" reject ""
	exits_with 0
	prints '^peer rejected$'
}

# Over iWARP an OFED client reports every rejection as one by the network. Our client decides by the private data of the rejection.
a_rejection_crosses_siw()
{
	have_both || return 0
	conversation ours-iw ofed-iw "$LAB_IW" reject ""
	exits_with 0
	prints '^peer rejected$'
	conversation ofed-iw ours-iw "$LAB_IW" reject ""
	exits_with 0
	prints '^non-peer rejected$'
}

# rejected_with CLIENT SERVER ADDRESS BYTES: the private data of the rejection arrive. BYTES is a pattern of their length
rejected_with()
{
	conversation "$1" "$2" "$3" reject ""
	exits_with 0
	prints '^peer rejected$'
	prints "^rejected with: $4 bytes: from the server"
}

# OFED's library sends a word of versions before the data, and no length; ours sends the length in the padding.
private_data_of_a_rejection_cross_rxe()
{
	have_both || return 0
	rejected_with our2-ib our2-ib "$LAB_IB" 15
	rejected_with our2-ib ofed-ib "$LAB_IB" '[0-9]+'
	rejected_with ofed-ib our2-ib "$LAB_IB" '[0-9]+'
}

# OFED's client over iWARP shows no rejection as one of the peer.
private_data_of_a_rejection_cross_siw()
{
	have_both || return 0
	rejected_with our2-iw our2-iw "$LAB_IW" 15
	rejected_with our2-iw ofed-iw "$LAB_IW" 15
}

# connects TEXT serve|reject: connects over rxe to an OFED server with these private data
connects()
{
	local server number=$((qual += 1))
	side ofed-ib "$2" $number 'from the server'
	: >"$dir/server"
	"${command[@]}" >"$dir/server" 2>"$dir/server.err" &
	server=$!
	until_printed '^listening$' $server "$dir/server" || return
	side ours-ib "$LAB_IB" $number "$1"
	run "${command[@]}"
	wait $server
	exits_with 0
}

# Our client needs a second request for more than 56 bytes of private data. OFED's server takes the first request for the whole, so
# no connection is made.
an_ofed_server_is_given_56_bytes_at_most()
{
	have_both || return 0
	local text
	text=$(printf '%080d' 1)
	connects "$text" serve
	prints '^non-peer rejected$'
	says 'send it 56 bytes at most'
	err="$dir/server.err" says '^accepted, and then event'
	connects "${text:24}" reject
	prints '^peer rejected$'
	out="$dir/server" prints "^requested with: [0-9]+ bytes: ${text:24}\$"
}

# A reply over InfiniBand can carry more private data than a program gets from our provider.
an_ofed_server_is_not_cut_short_in_silence()
{
	have_both || return 0
	local answer
	answer=$(printf '%0150d' 1)
	conversation ours-ib ofed-ib "$LAB_IB" serve ""
	exits_with 0
	prints '^accepted with: 104 bytes: 0{104}$'
	says '^libdatp: ib-rxe0: the private data of .* are cut to their first 104 bytes'
	answer=${answer:46}
	conversation ours-ib ofed-ib "$LAB_IB" serve ""
	exits_with 0
	prints '^accepted with: 104 bytes: 0{103}1$'
	says_nothing
	conversation ours-ib ours-ib "$LAB_IB" serve ""
	says_nothing
}

nobody_listening_is_a_rejection_by_the_network()
{
	side ours-ib "$LAB_IB" 1999 x
	run "${command[@]}"
	exits_with 0
	prints '^non-peer rejected$'
	side ours-iw "$LAB_IW" 1999 x
	run "${command[@]}"
	exits_with 0
	prints '^non-peer rejected$'
}

if [ "${1-}" = --as ]; then
	imitated=("$imitate" "$2")
	case $("$imitate" --adapter "$2") in
	ib-*)
		tests our_client_talks_to_an_ofed_server_over_rxe \
			an_ofed_client_talks_to_our_server_over_rxe \
			a_long_connection_qualifier_meets_the_same_port \
			a_rejection_by_an_ofed_server_is_the_peers \
			a_rejection_by_our_server_is_the_peers_for_ofed \
			an_ofed_server_is_given_56_bytes_at_most \
			an_ofed_server_is_not_cut_short_in_silence
		;;
	iwarp-*)
		tests our_client_talks_to_an_ofed_server_over_siw \
			an_ofed_client_talks_to_our_server_over_siw \
			a_rejection_crosses_siw
		;;
	esac
fi
tests our_client_talks_to_our_server_with_exact_private_data \
	our_client_talks_to_an_ofed_server_over_rxe \
	an_ofed_client_talks_to_our_server_over_rxe \
	our_client_talks_to_an_ofed_server_over_siw \
	an_ofed_client_talks_to_our_server_over_siw \
	a_long_connection_qualifier_meets_the_same_port \
	a_rejection_by_an_ofed_server_is_the_peers \
	a_rejection_by_our_server_is_the_peers_for_ofed \
	a_rejection_crosses_siw \
	private_data_of_a_rejection_cross_rxe \
	private_data_of_a_rejection_cross_siw \
	an_ofed_server_is_given_56_bytes_at_most \
	an_ofed_server_is_not_cut_short_in_silence \
	nobody_listening_is_a_rejection_by_the_network
