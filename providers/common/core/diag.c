/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages for the administrator when an operation of a program fails: what failed, with which
 * peer, why, and what to do. The program also gets its event or return value.
 *
 * Invariant: each cause is reported once in a process, so that a program which tries again and
 * again does not fill the log (attempts to connect that fail like an earlier one are logged at
 * level debug only). Wrong arguments, which are the programmer's errors, are logged at level debug
 * only, except those that an administrator can allow. A failure that can recur as often as a peer or the
 * program likes, an accept that does not complete, or an operation that breaks its connection, is logged a
 * few times per interval only (that of an accept at every level).
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "diag.h"
#include "ep.h"
#include "log/limit.h"
#include "loop.h"
#include "srq.h"

struct sentence {
	DAT_EVENT_NUMBER number;
	int level;
	const char *name;
	const char *cause;
	const char *remedy;
};

const char *err_name(enum datp_err err)
{
	static const char none[] = "DAT_NO_SUBTYPE";
	static const char *const names[DATP_ERR_COUNT][2] = {
		[DATP_OK] = { "DAT_SUCCESS", "DAT_SUCCESS" },
#define X(name, type, sub) [DATP_ERR_##name] = { #type, #type " " #sub },
		DATP_ERRORS(X)
#undef X
	};
	const char *whole;

	if ((unsigned int)err >= DATP_ERR_COUNT)
		err = DATP_ERR_INTERNAL;
	whole = names[err][1];
	return strstr(whole, none) ? names[err][0] : whole;
}

static const struct sentence connecting[] = {
	{ DAT_CONNECTION_EVENT_PEER_REJECTED, 3, "DAT_CONNECTION_EVENT_PEER_REJECTED",
	  "the program there rejected the request", "ask it why" },
	{ DAT_CONNECTION_EVENT_NON_PEER_REJECTED, 2, "DAT_CONNECTION_EVENT_NON_PEER_REJECTED",
	  "nobody listens there, or its backlog is full",
	  "start the server, and see that both sides use this connection qualifier" },
	{ DAT_CONNECTION_EVENT_TIMED_OUT, 2, "DAT_CONNECTION_EVENT_TIMED_OUT", "no answer in time",
	  "see that the server runs, that nothing between the hosts drops its packets, and that "
	  "the timeout given to dat_ep_connect is long enough" },
	{ DAT_CONNECTION_EVENT_UNREACHABLE, 2, "DAT_CONNECTION_EVENT_UNREACHABLE",
	  "there is no route to that address, or nothing answers there",
	  "give an address of the peer's adapter, on the network of this one" },
	{ DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, 2,
	  "DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR",
	  "it was accepted here, but not established", "see the messages of the other side" },
	{ 0, 2, "", "", "" },
};

/* The transport says that the other side has ended the connection request, instead of rejecting it: a program has it, or had it. */
static const struct sentence unanswered = {
	DAT_CONNECTION_EVENT_NON_PEER_REJECTED, 2, "DAT_CONNECTION_EVENT_NON_PEER_REJECTED",
	"the other side has ended the request without an answer, as when its program ends or closes the adapter",
	"see the messages of the program there, and that it answers each request"
};

/* A transport that does not leave the process finds no server of another one, whatever that does. */
static const struct sentence enclosed[] = {
	{ DAT_CONNECTION_EVENT_NON_PEER_REJECTED, 2, "DAT_CONNECTION_EVENT_NON_PEER_REJECTED",
	  "nobody listens there in this process, or the backlog is full, and this adapter's transport does not leave the process",
	  "listen in the same process, with this connection qualifier" },
	{ DAT_CONNECTION_EVENT_UNREACHABLE, 2, "DAT_CONNECTION_EVENT_UNREACHABLE",
	  "no adapter that is open in this process has that address, and this adapter's transport does not leave the process",
	  "give the address of an adapter that this process has opened" },
	{ 0, 2, "", "", "" },
};

/*
 * The qualifiers that libvipl makes of discriminators (vipl/listen.c). libvipl tries several of
 * them for one server, and listens at the first free one, and its program gets the result: so it is
 * not reported if nobody listens at one of them.
 */
#define VIPL_FIRST_QUAL UINT64_C(0x5649504C0000)
#define VIPL_LAST_QUAL	UINT64_C(0x5649504CFFFF)

static bool is_searched(uint64_t qual)
{
	return qual >= VIPL_FIRST_QUAL && qual <= VIPL_LAST_QUAL;
}

static int level_of(const struct sentence *s, uint64_t qual)
{
	bool nobody = s->number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
		      s->number == DAT_CONNECTION_EVENT_TIMED_OUT;

	return nobody && is_searched(qual) ? 3 : s->level;
}

static const char *address_text(const struct sockaddr_storage *address, char *text, size_t size)
{
	const void *bytes = address->ss_family == AF_INET6 ?
			    (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr :
			    (const void *)&((const struct sockaddr_in *)address)->sin_addr;

	if (!inet_ntop(address->ss_family, bytes, text, (socklen_t)size))
		snprintf(text, size, "a peer");
	return text;
}

static bool is_of_this_host(const struct datp_ep *ep)
{
	const struct sockaddr_in *own = (const struct sockaddr_in *)&ep->obj.ia->address;
	const struct sockaddr_in *peer = (const struct sockaddr_in *)&ep->remote_address;

	return own->sin_family == AF_INET && peer->sin_family == AF_INET &&
	       (ntohl(peer->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET ||
		peer->sin_addr.s_addr == own->sin_addr.s_addr);
}

/* The transport declares that it does not leave the process. */
static bool is_enclosed(struct datp_ia *ia)
{
	const struct datp_ia_attr *attr = ia_attr(ia);

	for (int32_t i = 0; i < attr->transport_attr_count; i++) {
		const DAT_NAMED_ATTR *one = &attr->transport_attr[i];

		if (one->name && one->value && !strcmp(one->name, "reach") && !strcmp(one->value, "process"))
			return true;
	}
	return false;
}

/* No other address helps an adapter that cannot reach itself. */
static const char *remedy_of(const struct datp_ep *ep, const struct sentence *s)
{
	if (s->number == DAT_CONNECTION_EVENT_UNREACHABLE && !is_enclosed(ep->obj.ia) && is_of_this_host(ep))
		return "the address is this host's own: check that the adapter's link is up, and "
		       "see the other messages";
	return s->remedy;
}

/* Returns how long the connection attempt has taken so far. */
static unsigned long long attempt_ms(struct datp_ep *ep)
{
	return (unsigned long long)(datp_clock_us() - ep_priv(ep)->began) / 1000;
}

static void left_out_text(uint32_t left_out, char *text, size_t size)
{
	if (left_out)
		snprintf(text, size, " (and %u more lines like this one were left out)", left_out);
}

static const struct sentence *sentence_in(const struct sentence *s, DAT_EVENT_NUMBER why)
{
	while (s->number && s->number != why)
		s++;
	return s->number ? s : NULL;
}

/* Returns the sentence for this event, which the transport has reported as `cause`. Returns NULL if no sentence is for it. */
static const struct sentence *sentence_of(struct datp_ia *ia, DAT_EVENT_NUMBER why, DAT_EVENT_NUMBER cause)
{
	const struct sentence *s;

	if (why == DAT_CONNECTION_EVENT_NON_PEER_REJECTED && cause == DAT_CONNECTION_EVENT_DISCONNECTED)
		return &unanswered;
	s = is_enclosed(ia) ? sentence_in(enclosed, why) : NULL;
	return s ? s : sentence_in(connecting, why);
}

void diag_connect(struct datp_ep *ep, DAT_EVENT_NUMBER why, DAT_EVENT_NUMBER cause)
{
	static struct log_limit accepted;
	const struct sentence *s = sentence_of(ep->obj.ia, why, cause);
	char peer[INET6_ADDRSTRLEN], self[INET6_ADDRSTRLEN];
	char key[128], after[32] = "", omitted[64] = "";
	uint32_t left_out = 0;
	int length, level;

	if (!s)
		return;
	address_text(&ep->remote_address, peer, sizeof(peer));
	length = snprintf(key, sizeof(key), "%s %d %s %llu", s->name, s == &unanswered, peer,
			  (unsigned long long)ep_priv(ep)->target_qual);
	level = level_of(s, ep_priv(ep)->target_qual);
	/*
	 * the program has chosen where to connect to, and the peer has chosen from where an
	 * accepted request comes
	 */
	if (!(ep_priv(ep)->active ? log_once(level, "connect", key, (size_t)length)
				  : log_once_of_peer("accept", key, (size_t)length)))
		level = 4;
	if (level > 2 && !log_wanted(level))
		return;
	if (ep_priv(ep)->active)
		snprintf(after, sizeof(after), " after %llu ms", attempt_ms(ep));
	else if (!log_limit_pass(&accepted, &left_out))
		return;
	left_out_text(left_out, omitted, sizeof(omitted));
	core_log(level,
		 "%s: no connection with %s, connection qualifier %llu%s: %s (%s, from %s); %s%s",
		 ep->obj.ia->name, peer, (unsigned long long)ep_priv(ep)->target_qual, after, s->cause,
		 s->name, address_text(&ep->obj.ia->address, self, sizeof(self)), remedy_of(ep, s),
		 omitted);
}

void diag_connect_refused(struct datp_ep *ep, const struct sockaddr *address, uint64_t qual,
			  enum datp_err err)
{
	struct sockaddr_storage copy = { 0 };
	char peer[INET6_ADDRSTRLEN];

	if (err != DATP_ERR_ADDRESS_UNREACHABLE && err != DATP_ERR_ADDRESS &&
	    err != DATP_ERR_ADDRESS_UNSUPPORTED)
		return;
	if (address->sa_family == AF_INET6)
		*(struct sockaddr_in6 *)&copy = *(const struct sockaddr_in6 *)address;
	else if (address->sa_family == AF_INET)
		*(struct sockaddr_in *)&copy = *(const struct sockaddr_in *)address;
	if (!log_once(2, "address", &copy, sizeof(copy)))
		return;
	core_log(2,
		 "%s: no connection with %s, connection qualifier %llu: this adapter cannot use "
		 "that address (%s); give an address of the peer's adapter, on the network of "
		 "this one",
		 ep->obj.ia->name, address_text(&copy, peer, sizeof(peer)),
		 (unsigned long long)qual, err_name(err));
}

void diag_connected(struct datp_ep *ep)
{
	char peer[INET6_ADDRSTRLEN], self[INET6_ADDRSTRLEN];
	char after[32] = "";

	if (!log_wanted(4))
		return;
	if (ep_priv(ep)->active)
		snprintf(after, sizeof(after), " after %llu ms", attempt_ms(ep));
	core_log(4, "%s: connected with %s, connection qualifier %llu%s, from %s",
		 ep->obj.ia->name, address_text(&ep->remote_address, peer, sizeof(peer)),
		 (unsigned long long)ep_priv(ep)->target_qual, after,
		 address_text(&ep->obj.ia->address, self, sizeof(self)));
}

/*
 * Programs end without disconnecting, and their peers can handle that: such an end is reported at level info only. An operation
 * that fails while the peer is there has an error of one of the two programs, and its user is told by default. Programs that
 * provoke such errors get a few lines in an interval, unless they ask for level info.
 */
static int broken_level(const struct broken *by, uint32_t *left_out)
{
	static struct log_limit failed;
	const int warning = 2, info = 3;

	if (!by->operation || by->by_peer_gone)
		return info;
	return log_wanted(info) || log_limit_pass(&failed, left_out) ? warning : info;
}

void diag_ended(struct datp_ep *ep, DAT_EVENT_NUMBER why)
{
	bool broken = why == DAT_CONNECTION_EVENT_BROKEN;
	int level = broken ? 2 : 4;
	char peer[INET6_ADDRSTRLEN], omitted[64] = "";
	struct broken by = { 0 };
	uint32_t left_out = 0;

	if (!log_wanted(level))
		return;
	address_text(&ep->remote_address, peer, sizeof(peer));
	if (broken) {
		broken_by(ep, &by);
		level = broken_level(&by, &left_out);
		left_out_text(left_out, omitted, sizeof(omitted));
	}
	if (broken && by.operation)
		core_log(level,
			 "%s: the connection with %s, connection qualifier %llu, has broken "
			 "(DAT_CONNECTION_EVENT_BROKEN): the %s of this side failed with %s: %s; %s%s",
			 ep->obj.ia->name, peer, (unsigned long long)ep_priv(ep)->target_qual,
			 by.operation, by.status, by.cause, by.remedy, omitted);
	else if (broken)
		core_log(level,
			 "%s: the connection with %s, connection qualifier %llu, has broken "
			 "(DAT_CONNECTION_EVENT_BROKEN)%s",
			 ep->obj.ia->name, peer, (unsigned long long)ep_priv(ep)->target_qual,
			 by.unseen ? "; which operation failed is not known, because another thread is taking events "
				     "from its queue" :
				     ", and no operation of this side has failed; check that the program and the host "
				     "there are running, and see their messages");
	else
		core_log(level, "%s: disconnected from %s, connection qualifier %llu",
			 ep->obj.ia->name, peer, (unsigned long long)ep_priv(ep)->target_qual);
}

void diag_ep_high(struct datp_ep *ep, bool hard)
{
	if (log_wanted(3))
		core_log(3,
			 "%s: an endpoint holds more of its SRQ's receives than its %s high "
			 "watermark allows%s; receive and repost faster, or raise the watermark",
			 ep->obj.ia->name, hard ? "hard" : "soft",
			 hard ? ", so its connection is broken"
			      : " (DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT)");
}

void diag_srq_low(struct datp_srq *srq)
{
	if (log_wanted(3))
		core_log(3,
			 "%s: an SRQ has fewer receives than its low watermark "
			 "(DAT_SRQ_LOW_WATERMARK_EVENT); post more",
			 srq->obj.ia->name);
}

void diag_listen(struct datp_ia *ia, uint64_t qual, enum datp_err err)
{
	const int info = 3;

	/*
	 * If a program tries one qualifier after the other until one is free, this is not an error.
	 */
	if (err != DATP_ERR_QUAL_IN_USE || !log_wanted(info) || !log_once(info, "listen", &qual, sizeof(qual)))
		return;
	core_log(info,
		 "%s: connection qualifier %llu is held by another program or service point (%s); "
		 "end that one or choose another qualifier ('ss -lxtnp | grep -w %llu', or for "
		 "RDMA 'rdma resource show cm_id', may show which)",
		 ia->name, (unsigned long long)qual, err_name(err), (unsigned long long)qual);
}

void diag_memory(struct datp_ia *ia, uint64_t length, enum datp_err err)
{
	struct rlimit limit;
	char allowed[64] = "unlimited";

	if (err != DATP_ERR_MEMORY && err != DATP_ERR_REGION && err != DATP_ERR_DEVICE)
		return;
	if (!log_once(2, "memory", &err, sizeof(err)))
		return;
	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY)
		snprintf(allowed, sizeof(allowed), "%llu KiB in all",
			 (unsigned long long)limit.rlim_cur >> 10);
	core_log(2,
		 "%s: %llu bytes of memory cannot be registered (%s); RLIMIT_MEMLOCK is %s: raise "
		 "it with 'ulimit -l unlimited', for good in /etc/security/limits.d, for a service "
		 "with LimitMEMLOCK=infinity",
		 ia->name, (unsigned long long)length, err_name(err), allowed);
}

void diag_block(struct datp_ia *ia, uint64_t length)
{
	if (!log_once(2, "block", NULL, 0))
		return;
	core_log(2,
		 "%s: %llu bytes of memory cannot be registered as one LMR (%s); this adapter's "
		 "max_lmr_block_size is %llu: register them in parts",
		 ia->name, (unsigned long long)length, err_name(DATP_ERR_BAD_LENGTH),
		 (unsigned long long)ia_attr(ia)->max_lmr_block);
}

/* Logged once for each attribute and number, because programs may try one number after the other. */
void diag_too_much(struct datp_ia *ia, const struct limited *what, uint64_t asked)
{
	struct {
		const struct datp_ia *ia;
		const char *object, *name;
		uint64_t asked;
	} key = { ia, what->object, what->name, asked };

	if (!log_once(2, "limit", &key, sizeof(key)))
		return;
	core_log(2,
		 "%s: no %s with %s %llu: the adapter has a limit of %llu (%s); ask for no more, or open an adapter "
		 "that has more (datctl show prints the limits)",
		 ia->name, what->object, what->name, (unsigned long long)asked,
		 (unsigned long long)what->limit, what->limit_name);
}

void diag_mixed(struct datp_evd *evd, const char *part, enum evd_stream stream,
		enum evd_stream clash)
{
	static const char *const names[STREAM_COUNT] = {
		[STREAM_EVERY] = "DAT_COMPLETION_DEFAULT_FLAG",
		[STREAM_UNSIGNALLED] = "DAT_COMPLETION_UNSIGNALLED_FLAG",
		[STREAM_SOLICITED] = "DAT_COMPLETION_SOLICITED_WAIT_FLAG",
		[STREAM_OTHER] = "connection events or requests",
	};
	const char *other = names[clash];
	enum evd_stream key[2] = { stream, clash };
	char remedy[256] = "";

	if (clash == stream)
		other = "software events";
	if (!log_once(2, "mixed", key, sizeof(key)))
		return;
	if (stream != STREAM_SOLICITED && clash != STREAM_SOLICITED)
		snprintf(remedy, sizeof(remedy),
			 ", or, for a program that cannot be changed, write allow=mixed_completions "
			 "into the line or section of this adapter in dat.conf, or set "
			 "DAT_ALLOW=mixed_completions");
	core_log(2,
		 "%s: no endpoint with %s on the EVD %p (%s), which has %s: the standard requires "
		 "the same notification for all completions on an EVD (DAT_INVALID_PARAMETER); "
		 "give them an EVD of their own%s",
		 evd->obj.ia->name, names[stream], (void *)evd, part, other, remedy);
}

void diag_async(struct datp_ia *ia, DAT_EVENT_NUMBER number)
{
	if (!log_once(1, "async", &number, sizeof(number)))
		return;
	if (number == DAT_ASYNC_ERROR_IA_CATASTROPHIC)
		core_log(1,
			 "%s: the adapter is broken (DAT_ASYNC_ERROR_IA_CATASTROPHIC); see its "
			 "driver's messages in 'dmesg'; the program has to close the adapter and "
			 "open it again",
			 ia->name);
	else
		core_log(1,
			 "%s: asynchronous error 0x%x of the adapter; 'datctl explain 0x%x' "
			 "explains it, and DAT_LOG=debug shows the provider's messages",
			 ia->name, (unsigned int)number, (unsigned int)number);
}
