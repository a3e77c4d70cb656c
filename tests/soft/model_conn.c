/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The provider's teardown.c and established.c under the model checker: model_conn.h. A clock goes on with each look at it, so a
 * wait without an end would be one that does not look.
 */
#include "tests/soft/model_conn.h"
#include "tests/soft/model_world.h"

#include <datp/provider.h>

/* These are the functions of the files below, and no replacements. */
#undef soft_ep_fail
#undef soft_ep_corrupted
#undef soft_ep_unanswered
#undef soft_ep_revoke_locked
#undef soft_ep_established

#include "log/limited.h"
#include "providers/soft/bounce.h"
#include "providers/soft/bound.h"
#include "providers/soft/conn.h"
#include "providers/soft/established.h"
#include "providers/soft/peer.h"
#include "providers/soft/port.h"
#include "providers/soft/quiesce.h"
#include "providers/soft/setup.h"
#include "providers/soft/sock.h"

#define BOUND 32 /* looks at the clock */

struct model_conn model_conn;

/* The other side's port and rings, whatever a message says of them: the scenarios do not run the mapping of an arena. */
static struct side *other_side(const struct soft_peer *peer)
{
	return peer == &world.peer[1] ? &world.b : &world.a;
}

static struct soft_ring *ring_of(const struct soft_peer *peer, uint32_t *mask)
{
	*mask = other_side(peer)->evd.cq.mask;
	return other_side(peer)->evd.cq.ring;
}

#undef soft_now_ms
#undef soft_bound
#undef soft_bound_over
#undef log_limited
#define soft_now_ms()			   (++model_conn.clock)
#define soft_bound(ia)			   ((void)(ia), soft_now_ms() + BOUND)
#define soft_bound_over(until, looked)	   ((void)(looked), soft_now_ms() >= *(until))
#define soft_bound_rest(ia)		   1u
#define log_limited(limit, ...)		   ((void)(limit))
#define datp_log(...)			   ((void)0)
#define datp_loop_inside(ia)		   ((void)(ia), model_conn.service)
#define datp_ep_call(ep, call)		   ((void)(ep), (void)(call), 0)
#define datp_cm_failed(ep, why)		   ((void)(ep), ++model_conn.ended)
#define datp_cm_disconnected(ep, why)	   ((void)(ep), ++model_conn.ended)
#define datp_cm_established(ep, data, len) ((void)(ep), ++model_conn.established)
#define soft_peer_port(peer, ref, layout)  ((void)(ref), (void)(layout), other_side(peer)->ep.port)
#define soft_peer_ring(peer, ref, mask)	   ((void)(ref), ring_of(peer, mask))
#define soft_peer_unmap(peer, at)	   ((void)(peer), (void)(at))
#define soft_peer_unmap_locked(peer, at)   ((void)(peer), (void)(at))
#define soft_peer_put(peer)		   ((void)(peer)->users--)
#define soft_socket_send_by(s, msg, spare) ((void)(s), (void)(msg), (void)(spare), true)
#define soft_out_for_end()		   ((struct soft_out *)(void *)&world)
#define soft_bounce_quiesce(ia)		   ((void)(ia))
#define soft_port_leave(ep)		   ((void)(ep), ++model_conn.left)
#define soft_ep_cancel(ep)		   ((void)(ep))
#define soft_other_look(other, ia, ep)    ((void)(other), (void)(ia), (void)(ep))
#define soft_other_has_ended(other)	   ((void)(other), true)
#include "providers/soft/established.c"
#include "providers/soft/teardown.c"
