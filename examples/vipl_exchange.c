/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vipl_exchange.c - a client and a server, then two peers, as programs for the VI architecture were
 * written; here over libvipl, on any adapter of uDAPL.
 *
 *	vipl_exchange [DEVICE]			both sides, as two processes
 *	vipl_exchange --server [DEVICE]		one side
 *	vipl_exchange --connect HOST [DEVICE]	and the other, perhaps on another host
 *
 * Build: cc vipl_exchange.c $(pkg-config --cflags --libs vipl)
 *
 * What happens:
 *	1. the client sends a message that is gathered from two segments; the server scatters it
 *	2. the server tells where its memory is, and by which handle
 *	3. the client writes into that memory, with immediate data that take a receive
 *	4. both end the connection, and connect once more, now as peers
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vipl.h>

#define PATIENCE 60000			/* milliseconds */
#define SIZE 4096

static const char *me = "client";

static void stop(const char *what, int value)
{
	fprintf(stderr, "vipl_exchange (%s): %s: %d\n", me, what, value);
	exit(1);
}

/* Every function returns a VIP_RETURN. */
#define MUST(call) do { VIP_RETURN r_ = (call); if (r_ != VIP_SUCCESS) stop(#call, r_); } while (0)

/* Descriptors and data in one registered block, as was the custom. */
struct block {
	VIP_DESCRIPTOR recv[4];
	VIP_DESCRIPTOR send;
	char in[4][SIZE];
	char out[SIZE];
	char shared[SIZE];		/* the peer may write it */
};

/* What the peer has to know of it. */
struct place {
	VIP_PVOID64 address;
	VIP_MEM_HANDLE handle;
};

static VIP_NIC_HANDLE nic;
static VIP_NIC_ATTRIBUTES nic_attr;
static VIP_VI_HANDLE vi;
static struct block *block;
static VIP_MEM_HANDLE handle;

/* A VIP_NET_ADDRESS with room for all of it. */
union address {
	VIP_NET_ADDRESS net;
	unsigned char bytes[64];
};

static void set_discriminator(union address *a, const char *discriminator)
{
	a->net.DiscriminatorLen = (VIP_UINT16)strlen(discriminator);
	memcpy(a->bytes + 4 + a->net.HostAddressLen, discriminator, strlen(discriminator));
}

static void here(union address *a, const char *discriminator)
{
	a->net.HostAddressLen = nic_attr.NicAddressLen;
	memcpy(a->bytes + 4, nic_attr.LocalNicAddress, nic_attr.NicAddressLen);
	set_discriminator(a, discriminator);
}

/* Ignores errors: failed calls return them, and when the other side disconnects, a receive comes back. */
static void no_word(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
	(void)context, (void)error;
}

static void open_side(const char *device)
{
	VIP_MEM_ATTRIBUTES mem = { NULL, VIP_TRUE, VIP_FALSE };
	VIP_VI_ATTRIBUTES attr = { VIP_SERVICE_RELIABLE_DELIVERY, 65536, NULL, NULL, VIP_TRUE,
				   VIP_FALSE };

	MUST(VipOpenNic(device, &nic));
	MUST(VipErrorCallback(nic, NULL, no_word));
	MUST(VipQueryNic(nic, &nic_attr));
	MUST(VipNSInit(nic, NULL));
	block = aligned_alloc(VIP_DESCRIPTOR_ALIGNMENT, sizeof(*block));
	if (block == NULL)
		stop("no memory", 0);
	memset(block, 0, sizeof(*block));
	MUST(VipRegisterMem(nic, block, sizeof(*block), &mem, &handle));
	MUST(VipCreateVi(nic, &attr, NULL, NULL, &vi));
}

static void close_side(void)
{
	MUST(VipDestroyVi(vi));
	MUST(VipDeregisterMem(nic, block, handle));
	free(block);
	MUST(VipNSShutdown(nic));
	MUST(VipCloseNic(nic));
}

/* Receives are there before the connection: two segments each, in one buffer. */
static void post_receives(void)
{
	for (int i = 0; i < 4; i++) {
		VIP_DESCRIPTOR *d = &block->recv[i];

		memset(d, 0, sizeof(*d));
		d->CS.SegCount = 2;
		d->CS.Length = SIZE;
		d->DS[0].Local.Data.Address = block->in[i];
		d->DS[0].Local.Handle = handle;
		d->DS[0].Local.Length = 16;
		d->DS[1].Local.Data.Address = block->in[i] + 16;
		d->DS[1].Local.Handle = handle;
		d->DS[1].Local.Length = SIZE - 16;
		MUST(VipPostRecv(vi, d, handle));
	}
}

static VIP_DESCRIPTOR *receive(void)
{
	VIP_DESCRIPTOR *d;

	MUST(VipRecvWait(vi, PATIENCE, &d));
	return d;
}

static void wait_sent(void)
{
	VIP_DESCRIPTOR *done;

	MUST(VipSendWait(vi, PATIENCE, &done));
}

/* Gathers a message from two halves of what is in `out`. */
static void post_out(unsigned int length)
{
	VIP_DESCRIPTOR *d = &block->send;

	memset(d, 0, sizeof(*d));
	d->CS.SegCount = 2;
	d->CS.Length = length;
	d->DS[0].Local.Data.Address = block->out;
	d->DS[0].Local.Handle = handle;
	d->DS[0].Local.Length = length / 2;
	d->DS[1].Local.Data.Address = block->out + length / 2;
	d->DS[1].Local.Handle = handle;
	d->DS[1].Local.Length = length - length / 2;
	MUST(VipPostSend(vi, d, handle));
}

static void send_out(unsigned int length)
{
	post_out(length);
	wait_sent();
}

/* DS[0] says where to, DS[1] from where. */
static void write_to(struct place there, unsigned int length, unsigned int immediate)
{
	VIP_DESCRIPTOR *d = &block->send;

	memset(d, 0, sizeof(*d));
	d->CS.Control = VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE;
	d->CS.ImmediateData = immediate;
	d->CS.SegCount = 2;
	d->CS.Length = length;
	d->DS[0].Remote.Data = there.address;
	d->DS[0].Remote.Handle = there.handle;
	d->DS[1].Local.Data.Address = block->out;
	d->DS[1].Local.Handle = handle;
	d->DS[1].Local.Length = length;
	MUST(VipPostSend(vi, d, handle));
	wait_sent();
}

/* Ends the connection; what is still posted comes back, flushed. */
static void disconnect(void)
{
	VIP_DESCRIPTOR *d;

	MUST(VipDisconnect(vi));
	do
		VipRecvDone(vi, &d);
	while (d != NULL);
}

static void fill(char *at, int seed)
{
	for (int i = 0; i < SIZE; i++)
		at[i] = (char)(i * 7 + i / 256 + seed);
}

static void check(const char *at, int seed, const char *what)
{
	for (int i = 0; i < SIZE; i++)
		if (at[i] != (char)(i * 7 + i / 256 + seed))
			stop(what, i);
	printf("PASS  %s\n", what);
	fflush(stdout);
}

static const char *name(const char *what, unsigned int id)
{
	static char text[17];

	snprintf(text, sizeof(text), "%s%x", what, id);
	return text;
}

static void receive_all(unsigned int length)
{
	VIP_DESCRIPTOR *d = receive();

	if (d->CS.Length != length)
		stop("length", (int)d->CS.Length);
}

/*
 * Ends the connection. One side sends the last message, and disconnects when that send has completed. If the other side
 * disconnected as soon as it has the message, the send could complete with an error (iWARP).
 */
static void last_word(void)
{
	receive_all(2);
	send_out(2);
}

/*
 * The other speaks before it, hears it, and waits until a receive comes back because the connection is over.
 * Its own message has arrived, since there was an answer; that end may be quicker than its completion.
 */
static void hear_last_word(void)
{
	VIP_DESCRIPTOR *d;
	VIP_RETURN ret;

	post_out(2);
	receive_all(2);
	ret = VipSendWait(vi, PATIENCE, &d);
	if (ret != VIP_SUCCESS && ret != VIP_DESCRIPTOR_ERROR)
		stop("the last message", ret);
	ret = VipRecvWait(vi, PATIENCE, &d);
	if (ret != VIP_DESCRIPTOR_ERROR)
		stop("the end of the connection", ret);
}

/*
 * The second connection: each side asks for the other. The one with the smaller discriminator is the
 * first to send, as iWARP wants it.
 */
static void be_peer(const char *mine, union address *remote, unsigned int id, int seed)
{
	int first = strcmp(mine, "one") == 0;
	VIP_VI_ATTRIBUTES attr;
	union address local;

	here(&local, name(mine, id));
	post_receives();
	MUST(VipConnectPeerRequest(vi, &local.net, &remote->net, PATIENCE));
	MUST(VipConnectPeerWait(vi, &attr));
	fill(block->out, seed);
	if (first)
		send_out(SIZE);
	receive_all(SIZE);
	if (!first)
		send_out(SIZE);
	/* both have received before they end it */
	if (first) {
		send_out(2);
		last_word();
	} else {
		receive_all(2);
		hear_last_word();
	}
}

static void server(unsigned int id)
{
	struct place place = { { 0 }, handle };
	union address local, remote;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;
	VIP_DESCRIPTOR *d;

	post_receives();
	here(&local, name("server", id));
	memset(&remote, 0, sizeof(remote));
	MUST(VipConnectWait(nic, &local.net, PATIENCE, &remote.net, &attr, &conn));
	MUST(VipConnectAccept(conn, vi));

	d = receive();
	check(d->DS[0].Local.Data.Address, 1,
	      "two segments    sent by the client, scattered by the server");

	place.address.Address = block->shared;
	memcpy(block->out, &place, sizeof(place));
	send_out(sizeof(place));
	d = receive();
	if ((d->CS.Status & VIP_STATUS_OP_MASK) != VIP_STATUS_OP_REMOTE_RDMA_WRITE ||
	    !(d->CS.Status & VIP_STATUS_IMMEDIATE) || d->CS.ImmediateData != 2)
		stop("status", (int)d->CS.Status);
	check(block->shared, 2, "RDMA write      by the client, told of by immediate data");
	hear_last_word();
	disconnect();

	set_discriminator(&remote, name("one", id));
	be_peer("two", &remote, id, 4);
	check(block->in[0], 3, "peers           what the one sent to the other");
	disconnect();
}

/* The server may not be there yet. */
static void connect_to(union address *remote, unsigned int id)
{
	VIP_RETURN ret = VIP_NO_MATCH;
	VIP_VI_ATTRIBUTES attr;
	union address local;

	here(&local, name("client", id));
	for (int i = 0; i < PATIENCE / 20 && ret == VIP_NO_MATCH; i++) {
		ret = VipConnectRequest(vi, &local.net, &remote->net, PATIENCE, &attr);
		if (ret == VIP_NO_MATCH)
			usleep(20000);
	}
	MUST(ret);
}

static void client(char *host, unsigned int id)
{
	union address remote;
	struct place there;
	VIP_DESCRIPTOR *d;

	MUST(VipNSGetHostByName(nic, host, &remote.net, 0));
	set_discriminator(&remote, name("server", id));
	post_receives();
	connect_to(&remote, id);

	fill(block->out, 1);
	send_out(SIZE);
	d = receive();
	memcpy(&there, d->DS[0].Local.Data.Address, sizeof(there));
	fill(block->out, 2);
	write_to(there, SIZE, 2);
	last_word();
	disconnect();

	set_discriminator(&remote, name("two", id));
	be_peer("one", &remote, id, 3);
	check(block->in[0], 4, "peers           what the other sent to the one");
	disconnect();
}

static int run(int is_server, char *host, unsigned int id, const char *device)
{
	me = is_server ? "server" : "client";
	open_side(device);
	if (is_server)
		server(id);
	else
		client(host, id);
	close_side();
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int id = (unsigned int)getpid() & 0xFFFFFF;
	int status;
	pid_t child;

	if (argc > 1 && strcmp(argv[1], "--server") == 0)
		return run(1, NULL, 0, argc > 2 ? argv[2] : "VINIC");
	if (argc > 2 && strcmp(argv[1], "--connect") == 0)
		return run(0, argv[2], 0, argc > 3 ? argv[3] : "VINIC");

	/* Fork first: what a process has opened is not its child's to use. */
	child = fork();
	if (child < 0) {
		perror("vipl_exchange");
		return 1;
	}
	if (child == 0)
		return run(1, NULL, id, argc > 1 ? argv[1] : "VINIC");
	run(0, "localhost", id, argc > 1 ? argv[1] : "VINIC");
	if (waitpid(child, &status, 0) != child || status != 0)
		stop("the server failed", status);
	printf("All bytes were checked by the side that got them.\n");
	return 0;
}
