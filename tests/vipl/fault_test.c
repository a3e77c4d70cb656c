/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a VI after the adapter has failed: over the fault-injecting wrapper, around soft0. */
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

#define NONE "return=INSUFFICIENT_RESOURCES"

/* A status of uDAPL, its status in VIPL, and the adapter on which the first request completes with it. */
static const struct {
	const char *status;
	uint32_t told;
} statuses[] = {
	{ "LOCAL_EP", VIP_STATUS_FORMAT_ERROR },
	{ "REMOTE_ACCESS", VIP_STATUS_RDMA_PROT_ERROR },
	{ "BAD_RESPONSE", VIP_STATUS_TRANSPORT_ERROR },
	{ "REMOTE_RESPONDER", VIP_STATUS_REMOTE_DESC_ERROR },
	{ "RECEIVER_NOT_READY", VIP_STATUS_REMOTE_DESC_ERROR },
	{ "TRANSPORT", VIP_STATUS_TRANSPORT_ERROR },
};

enum { STATUSES = sizeof(statuses) / sizeof(statuses[0]) };

static struct side a, b;	/* a on soft0, b on the adapter that fails */

static struct {
	pthread_t thread;
	atomic_bool finished;
	VIP_RETURN ret;
} sleeper;

static void add_adapter(FILE *file, const char *libs, const char *name, const char *rules)
{
	fprintf(file,
		"%s u1.2 nonthreadsafe default %s/libdat-fault.so opendat.1.0 \"soft0 %s\" \"\"\n",
		name, libs, rules);
}

/* Writes all adapters into one dat.conf, because a process reads it once. */
static void write_conf(void)
{
	char libs[PATH_MAX], path[PATH_MAX], name[40], rules[100];
	FILE *file;

	REQUIRE(getcwd(path, sizeof(path) - 10) != NULL);
	snprintf(libs, sizeof(libs), "%.4000s/.libs", path);
	snprintf(path, sizeof(path), "%s/dat.conf", check_tmpdir());
	file = fopen(path, "w");
	REQUIRE(file != NULL);
	fprintf(file, "soft0 u1.2 nonthreadsafe default %s/libdatsoft.so opendat.1.0 \"\" \"\"\n",
		libs);
	add_adapter(file, libs, "no-second-endpoint",
		    "ep_connect:" NONE ":nth=1 ep_create:" NONE ":nth=2");
	add_adapter(file, libs, "no-third-registration",
		    "ep_connect:" NONE ":nth=1 lmr_create:" NONE ":nth=3");
	add_adapter(file, libs, "no-other-endpoint",
		    "ep_connect:" NONE " ep_create:" NONE ":after=1");
	add_adapter(file, libs, "no-reset", "ep_reset:return=INVALID_STATE");
	add_adapter(file, libs, "no-disconnect", "ep_disconnect:" NONE);
	for (int i = 0; i < STATUSES; i++) {
		snprintf(name, sizeof(name), "status-%s", statuses[i].status);
		snprintf(rules, sizeof(rules), "request:status=%s:nth=1", statuses[i].status);
		add_adapter(file, libs, name, rules);
	}
	REQUIRE(fclose(file) == 0);
	setenv("DAT_OVERRIDE", path, 1);
	setenv("OPENDAT_TEST_IA", "soft0", 1);
}

static void open_first(void)
{
	write_conf();
	side_open_vi(&a);
}

static void open_broken(const char *name)
{
	setenv("OPENDAT_TEST_IA", name, 1);
	side_open_vi(&b);
}

static void close_sides(void)
{
	side_close(&b);
	side_close(&a);
}

static VIP_RETURN ask(void)
{
	union address local, remote;

	address_make(&b, "me", &local);
	address_make(&a, "nobody", &remote);
	return VipConnectRequest(b.vi, &local.net, &remote.net, check_patience_ms(), NULL);
}

static void message_arrives(void)
{
	post_send(&a, 1, 8);
	expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE);
	expect_send(&a, 1, VIP_STATUS_OP_SEND);
}

static void connects_at_last(const char *name)
{
	VIP_DESCRIPTOR *d;

	open_broken(name);
	post_recv(&b, 0, 64);
	CHECK_VIP(ask(), VIP_ERROR_RESOURCE);
	CHECK_EQ_INT(state_of(&b), VIP_STATE_IDLE);
	CHECK_VIP(VipRecvDone(b.vi, &d), VIP_NOT_DONE);
	sides_connect(&a, &b);
	message_arrives();
}

static void an_endpoint_that_was_not_to_be_had_is_had_later(void)
{
	connects_at_last("no-second-endpoint");
}

static void nor_is_registered_memory(void)
{
	connects_at_last("no-third-registration");
}

static void a_vi_without_an_endpoint_is_still_a_vi(void)
{
	VIP_DESCRIPTOR *d;

	open_broken("no-other-endpoint");
	post_recv(&b, 0, 64);
	for (int i = 0; i < 3; i++)
		CHECK_VIP(ask(), VIP_ERROR_RESOURCE);
	CHECK_VIP(VipRecvDone(b.vi, &d), VIP_NOT_DONE);
	post_send(&b, 1, 8);
	expect_send(&b, 1, VIP_STATUS_OP_SEND | VIP_STATUS_DESC_FLUSHED_ERROR);
	CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	/* close_sides() destroys it */
}

static void an_endpoint_that_cannot_be_reset_is_replaced(void)
{
	open_broken("no-reset");
	for (int i = 0; i < 3; i++) {
		post_recv(&b, 0, 64);
		CHECK_VIP(ask(), VIP_NO_MATCH);
		sides_connect(&a, &b);
		message_arrives();
		CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
		CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
		side_drain(&a);
	}
}

static void *disconnect(void *arg)
{
	(void)arg;
	sleeper.ret = VipDisconnect(b.vi);
	atomic_store(&sleeper.finished, true);
	return NULL;
}

static void *ask_for_ever(void *arg)
{
	union address local, remote;

	(void)arg;
	address_make(&b, "me", &local);
	address_make(&a, "server", &remote);
	sleeper.ret = VipConnectRequest(b.vi, &local.net, &remote.net, VIP_INFINITE, NULL);
	atomic_store(&sleeper.finished, true);
	return NULL;
}

static void sleeper_start(void *(*sleep)(void *))
{
	atomic_store(&sleeper.finished, false);
	REQUIRE(pthread_create(&sleeper.thread, NULL, sleep, NULL) == 0);
}

/* The library frees the endpoint, so both sides get their descriptors back. */
static void a_connection_that_cannot_be_ended_ends(void)
{
	open_broken("no-disconnect");
	for (int i = 0; i < 3; i++) {
		post_recv(&a, 0, 64);
		post_recv(&b, 0, 64);
		post_recv(&b, 2, 64);
		sides_connect(&a, &b);
		message_arrives();
		sleeper_start(disconnect);
		REQUIRE_SOON(atomic_load(&sleeper.finished));
		pthread_join(sleeper.thread, NULL);
		CHECK_VIP(sleeper.ret, VIP_SUCCESS);
		CHECK_EQ_INT(state_of(&b), VIP_STATE_IDLE);
		expect_recv(&b, 2, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
		expect_recv(&a, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
		REQUIRE_SOON(state_of(&a) == VIP_STATE_ERROR);
		CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
	}
}

static void nor_does_an_attempt_go_on(void)
{
	union address local, remote = { .bytes = { 0 } };
	VIP_DESCRIPTOR *d;
	VIP_CONN_HANDLE conn;

	open_broken("no-disconnect");
	post_recv(&b, 0, 64);
	address_make(&a, "server", &local);
	REQUIRE_VIP(VipConnectWait(a.nic, &local.net, 0, &remote.net, &a.remote, &conn),
		    VIP_TIMEOUT);
	sleeper_start(ask_for_ever);
	REQUIRE_VIP(VipConnectWait(a.nic, &local.net, check_patience_ms(), &remote.net, &a.remote,
				   &conn), VIP_SUCCESS);
	pthread_cancel(sleeper.thread);
	pthread_join(sleeper.thread, NULL);
	CHECK(!atomic_load(&sleeper.finished));
	CHECK_EQ_INT(state_of(&b), VIP_STATE_IDLE);
	address_make(&b, "aa", &local);
	address_make(&a, "zz", &remote);
	REQUIRE_VIP(VipConnectPeerRequest(b.vi, &local.net, &remote.net, VIP_INFINITE),
		    VIP_SUCCESS);
	CHECK_VIP(VipDisconnect(b.vi), VIP_SUCCESS);
	expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
	post_recv(&b, 0, 64);
	CHECK_VIP(VipRecvDone(b.vi, &d), VIP_NOT_DONE);
	sides_connect(&a, &b);
	message_arrives();
}

static void each_status_has_its_bit(void)
{
	char name[40];

	for (int i = 0; i < STATUSES; i++) {
		snprintf(name, sizeof(name), "status-%s", statuses[i].status);
		open_broken(name);
		post_recv(&a, 0, 64);
		post_recv(&b, 0, 64);
		sides_connect(&a, &b);
		post_send(&b, 1, 8);
		expect_send(&b, 1, VIP_STATUS_OP_SEND | statuses[i].told);
		/* at a reliable level the error has broken the connection */
		REQUIRE_SOON(state_of(&b) == VIP_STATE_ERROR);
		expect_recv(&b, 0, VIP_STATUS_OP_RECEIVE | VIP_STATUS_DESC_FLUSHED_ERROR);
		side_close(&b);
		CHECK_VIP(VipDisconnect(a.vi), VIP_SUCCESS);
		side_drain(&a);
	}
}

static const struct check_test tests[] = {
	CHECK_TEST(an_endpoint_that_was_not_to_be_had_is_had_later),
	CHECK_TEST(nor_is_registered_memory),
	CHECK_TEST(a_vi_without_an_endpoint_is_still_a_vi),
	CHECK_TEST(an_endpoint_that_cannot_be_reset_is_replaced),
	CHECK_TEST(a_connection_that_cannot_be_ended_ends),
	CHECK_TEST(nor_does_an_attempt_go_on),
	CHECK_TEST(each_status_has_its_bit),
	CHECK_END,
};
static const struct check_suite fault = {
	.name = "fault", .setup = open_first, .teardown = close_sides, .tests = tests
};

CHECK_SUITES(&fault);
