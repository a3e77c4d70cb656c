/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two endpoints of one process connect, three messages go from a to b, and they part; what the
 * program gets to know goes to stdout, one line for each event. Usage: story ADAPTER [freed|shared|empty]. If it is compiled
 * with STORY_API_20, it is a program of DAT 2.0. With `freed` it frees the endpoints before it asks for asynchronous events,
 * with `shared` each endpoint has one EVD for Receives and requests, and with `empty` it prints only what calls return where there
 * is no event.
 */
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef STORY_API_20
#include <dat2/udat.h>
#define ADDRESSES DAT_VA_TYPE_VA,
/* an EVD without completions gives the class as well */
#define EMPTY	  ((DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_QUEUE_EMPTY)
#else
#include <dat/udat.h>
#define ADDRESSES
#define EMPTY	  ((DAT_RETURN)DAT_QUEUE_EMPTY)
#endif

#define PATIENCE 20000000
#define MESSAGES 3

struct end {
	DAT_EVD_HANDLE recv, request, connect;
	DAT_EP_HANDLE ep;
};

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async = DAT_HANDLE_NULL, cr_evd;
static DAT_CNO_HANDLE cno;
static DAT_PZ_HANDLE pz;
static DAT_LMR_CONTEXT context;
static char memory[4096];

static const char *name(DAT_RETURN ret)
{
	const char *type = "?", *subtype;

	dat_strerror(ret, &type, &subtype);
	return type;
}

/* Prints what a call returned, if it failed. */
static bool did(const char *call, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		printf("%s %s\n", call, name(ret));
	return ret == DAT_SUCCESS;
}

static bool next(DAT_EVD_HANDLE evd, DAT_EVENT *event, const char *who)
{
	DAT_COUNT more;
	DAT_RETURN ret = dat_evd_wait(evd, PATIENCE, 1, event, &more);

	if (ret != DAT_SUCCESS)
		printf("%s %s\n", who, name(ret));
	return ret == DAT_SUCCESS;
}

static const char *conn_name(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return "ESTABLISHED";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "BROKEN";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "UNREACHABLE";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "TIMED_OUT";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "PEER_REJECTED";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "NON_PEER_REJECTED";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "ACCEPT_COMPLETION_ERROR";
	default:
		return "another event";
	}
}

static DAT_EVENT_NUMBER conn(const struct end *end, const char *who)
{
	DAT_EVENT event = { .event_number = (DAT_EVENT_NUMBER)0 };

	if (next(end->connect, &event, who))
		printf("%s %s\n", who, conn_name(event.event_number));
	return event.event_number;
}

static void completion(DAT_EVD_HANDLE evd, const char *who)
{
	DAT_EVENT event;

	if (next(evd, &event, who))
		printf("%s status %d\n", who,
		       (int)event.event_data.dto_completion_event_data.status);
}

static bool make(struct end *end, bool shared)
{
	if (!did("evd_create", dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->recv)))
		return false;
	end->request = end->recv;
	return (shared || did("evd_create",
			      dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->request))) &&
	       did("evd_create", dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
						&end->connect)) &&
	       did("ep_create",
		   dat_ep_create(ia, pz, end->recv, end->request, end->connect, NULL, &end->ep));
}

static DAT_RETURN post(const struct end *end, bool send, int i)
{
	DAT_LMR_TRIPLET seg = { .lmr_context = context,
				.segment_length = 64,
				.virtual_address = (DAT_VADDR)(uintptr_t)memory };
	DAT_DTO_COOKIE cookie = { .as_64 = (DAT_UINT64)i };

	if (send)
		return dat_ep_post_send(end->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	return dat_ep_post_recv(end->ep, 1, &seg, cookie, DAT_COMPLETION_DEFAULT_FLAG);
}

static bool join(struct end *a, struct end *b, DAT_CONN_QUAL qual, DAT_IA_ADDRESS_PTR address)
{
	DAT_EVENT event;
	DAT_EVENT_NUMBER at_a, at_b;

	if (!did("ep_connect", dat_ep_connect(a->ep, address, qual, PATIENCE, 0, NULL,
					      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG)))
		return false;
	if (!next(cr_evd, &event, "cr") ||
	    !did("cr_accept",
		 dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, b->ep, 0, NULL)))
		return false;
	at_a = conn(a, "a");
	at_b = conn(b, "b");
	return at_a == DAT_CONNECTION_EVENT_ESTABLISHED && at_b == at_a;
}

static void talk(const struct end *a, const struct end *b)
{
	int posted[2] = { 0, 0 };

	for (int i = 0; i < MESSAGES; i++)
		posted[0] += did("post_recv", post(b, false, i));
	for (int i = 0; i < MESSAGES; i++)
		posted[1] += did("post_send", post(a, true, i));
	for (int i = 0; i < posted[1]; i++)
		completion(a->request, "sent");
	for (int i = 0; i < posted[1] && i < posted[0]; i++)
		completion(b->recv, "received");
}

static bool open_all(const char *adapter, DAT_CONN_QUAL *qual, DAT_IA_ATTR *attr)
{
	DAT_REGION_DESCRIPTION region = { .for_va = memory };
	DAT_LMR_HANDLE lmr;
	DAT_RMR_CONTEXT rmr;
	DAT_VLEN size;
	DAT_VADDR at;
	DAT_PSP_HANDLE psp;

	/* what fails once may work the next time */
	return (did("ia_open", dat_ia_open((char *)(uintptr_t)adapter, 8, &async, &ia)) ||
		did("ia_open", dat_ia_open((char *)(uintptr_t)adapter, 8, &async, &ia))) &&
	       did("cno_create", dat_cno_create(ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno)) &&
	       did("evd_modify_cno", dat_evd_modify_cno(async, cno)) &&
	       did("ia_query", dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, attr, 0, NULL)) &&
	       did("pz_create", dat_pz_create(ia, &pz)) &&
	       did("lmr_create",
		   dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(memory), pz,
				  DAT_MEM_PRIV_ALL_FLAG, ADDRESSES &lmr, &context, &rmr, &size, &at)) &&
	       did("evd_create",
		   dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr_evd)) &&
	       did("psp_create", dat_psp_create_any(ia, qual, cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
}

/* Prints the asynchronous events, and whether the CNO reports them. */
static void tell_async(const struct end *a)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_EVENT event;
	DAT_HANDLE about;

	if (dat_cno_wait(cno, 0, &evd) == DAT_SUCCESS && evd == async)
		printf("the CNO reports an asynchronous event\n");
	while (dat_evd_dequeue(async, &event) == DAT_SUCCESS) {
		about = event.event_data.asynch_error_event_data.dat_handle;
		printf("async 0x%x of %s, reason %d\n", event.event_number,
		       about == a->ep ? "the endpoint" : about == a->request ? "the EVD" : "the IA",
		       event.event_data.asynch_error_event_data.reason);
	}
}

/* Prints whole values, because programs compare them. */
static void tell_empty(const struct end *a)
{
	const struct {
		const char *of;
		DAT_EVD_HANDLE evd;
	} evds[] = { { "completions", a->request }, { "connections", a->connect }, { "requests", cr_evd }, { "errors", async } };
	DAT_EVD_HANDLE evd;
	DAT_EVENT event;
	DAT_COUNT more;

	for (int i = 0; i < 4; i++) {
		printf("dat_evd_wait for %s 0x%x\n", evds[i].of, (unsigned int)dat_evd_wait(evds[i].evd, 1000, 1, &event, &more));
		printf("dat_evd_dequeue of %s 0x%x\n", evds[i].of, (unsigned int)dat_evd_dequeue(evds[i].evd, &event));
	}
	printf("dat_cno_wait 0x%x\n", (unsigned int)dat_cno_wait(cno, 1000, &evd));
}

int main(int argc, char **argv)
{
	struct end a, b;
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;
	DAT_EVENT event;
	DAT_RETURN ret;
	const char *mode = argc == 3 ? argv[2] : "";
	bool shared = !strcmp(mode, "shared");

	setlocale(LC_ALL, "");
	if (argc < 2 || argc > 3 || !open_all(argv[1], &qual, &attr) || !make(&a, shared) || !make(&b, shared))
		return 1;
	if (!strcmp(mode, "empty")) {
		tell_empty(&a);
	} else if (join(&a, &b, qual, attr.ia_address_ptr)) {
		talk(&a, &b);
		did("ep_disconnect", dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
		conn(&a, "a");
		conn(&b, "b");
	}
	while ((ret = dat_evd_dequeue(a.connect, &event)) == DAT_SUCCESS)
		printf("a %s\n", conn_name(event.event_number));
	/* programs compare the whole value */
	if (ret != EMPTY)
		printf("evd_dequeue returns 0x%x\n", (unsigned int)ret);
	if (!strcmp(mode, "freed")) {
		did("ep_free", dat_ep_free(a.ep));
		did("ep_free", dat_ep_free(b.ep));
	}
	tell_async(&a);
	if (!did("ia_close", dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG)))
		did("ia_close", dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	return 0;
}
