/* SPDX-License-Identifier: BSD-2-Clause */
/* How the verbs providers classify a device, and what dat.conf changes. No device is needed. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "providers/ib/ib.h"
#include "providers/iwarp/iwarp.h"
#include "providers/rdma/rdma_device.h"
#include "providers/rdma/rdma_gid.h"

enum { RXE = 0xffffff, SIW = 0x626d74, CHELSIO = 0x1425, MELLANOX = 0x2c9 };

static struct ibv_device device = { .name = "dev0" };
static struct ibv_context verbs = { .device = &device };
static struct rdma_ia ia;
static char text[128];

/* Opens an adapter on such a device, with these words in dat.conf. */
static bool opened(const struct rdma_kind *kind, uint32_t vendor, uint32_t part, const char *words)
{
	memset(&ia, 0, sizeof(ia));
	ia.base.name = "dev0";
	ia.verbs = &verbs;
	ia.kind = kind;
	ia.dev.vendor_id = vendor;
	ia.dev.vendor_part_id = part;
	return rdma_options_parse(&ia, words) && rdma_quirks_find(&ia);
}

static const char *shown(enum rdma_quirk quirk)
{
	text[0] = '\0';
	return rdma_quirk_show(&ia, quirk, text, sizeof(text)) ? text : "";
}

/* ------------------------------------------------------------------ by the table */

static void device_that_is_not_in_the_table_has_what_its_transport_has(void)
{
	REQUIRE(opened(&ib_kind, MELLANOX, 4119, "dev0 1"));
	CHECK_EQ_INT(ia.quirks, 0);
	for (enum rdma_quirk i = 0; i < RDMA_QUIRKS; i++)
		CHECK_EQ_STR(shown(i), "");
	CHECK(rdma_longest_region(&ia) == UINT64_MAX);
	REQUIRE(opened(&ib_kind, 0x19e5, 0xa222, "dev0 1"));
	CHECK_EQ_INT(ia.quirks, rdma_quirk_bit(RDMA_INLINE_MTU));
	REQUIRE(opened(&iw_kind, 0x8086, 0x159b, "dev0 1"));
	CHECK_EQ_INT(ia.quirks,
		     rdma_quirk_bit(RDMA_WRITE_SINKS) | rdma_quirk_bit(RDMA_NO_LAST_WQE) |
			     rdma_quirk_bit(RDMA_SHORT_FLUSHED));
	/* a thread for each attempt is never wrong */
	REQUIRE(opened(&iw_kind, 1, 0, "dev0 1"));
	CHECK(rdma_has(&ia, RDMA_CONNECT_BLOCKS));
}

/* 0x54xx is a T5, 0x64xx a T6. */
static void line_of_a_part_is_of_no_other_part(void)
{
	REQUIRE(opened(&iw_kind, CHELSIO, 0x5410, "dev0 1"));
	CHECK(rdma_has(&ia, RDMA_REGION_LIMIT));
	CHECK(rdma_longest_region(&ia) == (UINT64_C(8) << 30) - 1);
	CHECK_HAS_STR(shown(RDMA_REGION_LIMIT), "on, by Chelsio T5: ");
	REQUIRE(opened(&iw_kind, CHELSIO, 0x6410, "dev0 1"));
	CHECK(!rdma_has(&ia, RDMA_REGION_LIMIT));
	/* a line of all parts */
	CHECK_HAS_STR(shown(RDMA_WRITES_UNFENCED), "on, by Chelsio: ");
	CHECK_HAS_STR(shown(RDMA_READS_UNFENCED), "on, by Chelsio: ");
	CHECK(rdma_longest_region(&ia) == UINT64_MAX);
	/* the vendor's number does not count over another transport */
	REQUIRE(opened(&ib_kind, CHELSIO, 0x5410, "dev0 1"));
	CHECK(!rdma_has(&ia, RDMA_REGION_LIMIT));
}

static void line_of_a_device_goes_before_that_of_its_transport(void)
{
	REQUIRE(opened(&iw_kind, SIW, 0, "dev0 1"));
	CHECK(!rdma_has(&ia, RDMA_WRITE_SINKS));
	CHECK(!rdma_has(&ia, RDMA_SHORT_FLUSHED));
	CHECK_EQ_STR(shown(RDMA_WRITE_SINKS), "");
	CHECK(rdma_has(&ia, RDMA_NO_LAST_WQE));
	CHECK_HAS_STR(shown(RDMA_NO_LAST_WQE), "on, by all of iWARP: ");
	CHECK(rdma_has(&ia, RDMA_DEAF_START));
	CHECK_HAS_STR(shown(RDMA_DEAF_START), "on, by siw: ");
	CHECK(rdma_longest_region(&ia) < UINT64_C(1) << 43);
	REQUIRE(opened(&ib_kind, RXE, 0, "dev0 1"));
	CHECK_EQ_INT(ia.quirks,
		     rdma_quirk_bit(RDMA_LOOSE_WINDOWS) | rdma_quirk_bit(RDMA_NO_LAST_WQE));
}

/* Their drivers pass a request to the kernel; hardware is told of it through mapped memory. */
static void only_devices_without_a_mapped_doorbell_are_posted_to_by_a_write(void)
{
	REQUIRE(opened(&iw_kind, SIW, 0, "dev0 1"));
	CHECK(rdma_bell_writes(&ia));
	REQUIRE(opened(&ib_kind, RXE, 0, "dev0 1"));
	CHECK(rdma_bell_writes(&ia));
	REQUIRE(opened(&iw_kind, CHELSIO, 0x5400, "dev0 1"));
	CHECK(!rdma_bell_writes(&ia));
}

/* ------------------------------------------------------------------ by dat.conf */

static void dat_conf_switches_each_quirk(void)
{
	char words[64];

	for (enum rdma_quirk i = 0; i < RDMA_QUIRKS; i++) {
		const char *name = strchr(rdma_quirk_shown(i), '.') + 1;

		snprintf(words, sizeof(words), "dev0 1 quirk=%s", name);
		REQUIRE(opened(&iw_kind, 1, 0, words));
		CHECK(rdma_has(&ia, i));
		CHECK_HAS_STR(shown(i), "on, by dat.conf: ");
		snprintf(words, sizeof(words), "dev0 1 quirk=-%s", name);
		REQUIRE(opened(&iw_kind, SIW, 0, words));
		CHECK(!rdma_has(&ia, i));
	}
}

static void what_is_switched_off_is_shown_with_the_reason(void)
{
	REQUIRE(opened(&iw_kind, SIW, 0, "dev0 1 quirk=-deaf_start"));
	CHECK_HAS_STR(shown(RDMA_DEAF_START), "off, by dat.conf: its passive side");
	CHECK_HAS_STR(shown(RDMA_EARLY_FATAL), "on, by siw: ");
}

static void several_are_switched_and_the_last_word_counts(void)
{
	REQUIRE(opened(&iw_kind, SIW, 0,
		       "dev0 quirk=-sigpipe,write_sinks 1 quirk=-early_fatal,sigpipe"));
	CHECK(rdma_has(&ia, RDMA_SIGPIPE));
	CHECK(rdma_has(&ia, RDMA_WRITE_SINKS));
	CHECK(!rdma_has(&ia, RDMA_EARLY_FATAL));
	CHECK(rdma_has(&ia, RDMA_DEAF_START));
}

static void readsink_is_another_name_of_write_sinks(void)
{
	REQUIRE(opened(&iw_kind, 1, 0, "dev0 1 readsink=strict"));
	CHECK(!rdma_has(&ia, RDMA_WRITE_SINKS));
	REQUIRE(opened(&iw_kind, 1, 0, "dev0 1 readsink=open"));
	CHECK(rdma_has(&ia, RDMA_WRITE_SINKS));
	/* siw does not need it, so readsink=open has no effect */
	REQUIRE(opened(&iw_kind, SIW, 0, "dev0 1 readsink=open"));
	CHECK(!rdma_has(&ia, RDMA_WRITE_SINKS));
}

/* ------------------------------------------------------------------ what is refused */

static const char *said(const struct rdma_kind *kind, const char *words)
{
	bool good;

	check_stderr_begin();
	good = opened(kind, SIW, 0, words);
	CHECK(!good);
	return check_stderr_end();
}

static void unknown_name_is_refused_with_the_nearest_one(void)
{
	CHECK_HAS_STR(said(&iw_kind, "dev0 1 quirk=-daef_start"),
		      "dev0: quirk=daef_start in dat.conf is not known; did you mean deaf_start?");
	CHECK_HAS_STR(said(&iw_kind, "dev0 1 quirk=sigpipe,region_limits"),
		      "did you mean region_limit?");
	CHECK_HAS_STR(said(&iw_kind, "dev0 1 quirk=nosolicited"), "did you mean no_solicited?");
}

static void unknown_name_that_is_near_to_none_is_refused_without_one(void)
{
	const char *line = said(&iw_kind, "dev0 1 quirk=speed");

	CHECK_HAS_STR(line, "quirk=speed in dat.conf is not known; dat.conf(5) lists all");
	CHECK(!strstr(line, "did you mean"));
	CHECK_HAS_STR(said(&iw_kind, "dev0 1 quirk="), "quirk= in dat.conf is not known");
	CHECK_HAS_STR(said(&iw_kind, "dev0 1 quirk=sigpipe,"), "quirk= in dat.conf is not known");
	CHECK_HAS_STR(said(&iw_kind, "dev0 1 quirk=-"), "quirk= in dat.conf is not known");
	CHECK_HAS_STR(said(&iw_kind,
			   "dev0 1 quirk=a_name_that_is_longer_than_any_quirk_and_than_its_place"),
		      "is not known");
}

static void names_of_ofed_in_the_environment_are_taken_and_dat_conf_goes_before(void)
{
	setenv("DAPL_MAX_INLINE", "128", 1);
	setenv("DAPL_CM_ARP_TIMEOUT_MS", "0", 1);	    /* ignored, because it is out of range */
	setenv("DAPL_CM_ARP_RETRY_COUNT", "7 late_ms=1", 1); /* ignored as a whole, because it is not a number */
	REQUIRE(opened(&iw_kind, SIW, 0, "dev0 1"));
	CHECK_EQ_INT(ia.opt.inline_bytes, 128);
	CHECK_EQ_INT(ia.opt.resolve_ms, 4000);
	CHECK_EQ_INT(ia.opt.resolve_tries, 4);
	CHECK_EQ_INT(ia.opt.route_ms, 4000);
	CHECK_EQ_INT(ia.opt.route_tries, 4);
	CHECK_EQ_INT(ia.opt.late_ms, 200);
	CHECK(!ia.opt.marks);
	setenv("DAPL_CM_TOS", "104", 1);
	REQUIRE(opened(&iw_kind, SIW, 0, "dev0 1"));
	CHECK(ia.opt.marks);
	CHECK_EQ_INT(ia.opt.tos, 104);
	REQUIRE(opened(&iw_kind, SIW, 0, "dev0 1 tos=0x20"));
	CHECK_EQ_INT(ia.opt.tos, 32);
	CHECK_HAS_STR(said(&iw_kind, "dev0 1 tos=256"), "tos=256 in dat.conf is not a type of service");
	CHECK_HAS_STR(said(&iw_kind, "dev0 1 tos=-1"), "is not a type of service");
	CHECK_HAS_STR(said(&iw_kind, "dev0 1 tos="), "is not a type of service");
	unsetenv("DAPL_CM_TOS");
	REQUIRE(opened(&iw_kind, SIW, 0, "dev0 1 inline=1k resolve_tries=9 hold_ms=2s"));
	CHECK_EQ_INT(ia.opt.inline_bytes, 1024);
	CHECK_EQ_INT(ia.opt.resolve_tries, 9);
	CHECK_EQ_INT(ia.opt.hold_ms, 2000);
	CHECK(rdma_emulates(&ia));
	CHECK_EQ_INT(ia.opt.route_tries, 9);
	setenv("DAPL_CM_ROUTE_TIMEOUT_MS", "700", 1);
	setenv("DAPL_CM_ROUTE_RETRY_COUNT", "5", 1);
	REQUIRE(opened(&iw_kind, SIW, 0, "dev0 1 resolve_ms=2s resolve_tries=9 route_ms=90"));
	CHECK_EQ_INT(ia.opt.resolve_ms, 2000);
	CHECK_EQ_INT(ia.opt.route_ms, 90);
	CHECK_EQ_INT(ia.opt.route_tries, 5);
	unsetenv("DAPL_CM_ROUTE_TIMEOUT_MS");
	unsetenv("DAPL_CM_ROUTE_RETRY_COUNT");
	REQUIRE(opened(&iw_kind, SIW, 0, "dev0 rmr=device"));
	CHECK(!rdma_emulates(&ia));
	unsetenv("DAPL_MAX_INLINE");
	unsetenv("DAPL_CM_ARP_TIMEOUT_MS");
	unsetenv("DAPL_CM_ARP_RETRY_COUNT");
}

static void second_plain_word_is_a_port_and_there_is_no_third(void)
{
	REQUIRE(opened(&ib_kind, MELLANOX, 4119, "dev0 7"));
	CHECK_EQ_STR(ia.opt.where, "dev0");
	CHECK_EQ_INT(ia.opt.port, 7);
	CHECK_HAS_STR(said(&iw_kind, "dev0 256"), "dev0: \"256\" in dat.conf is not a port; ");
	CHECK_HAS_STR(said(&iw_kind, "dev0 -1"), "\"-1\" in dat.conf is not a port; ");
	CHECK_HAS_STR(said(&iw_kind, "dev0 1 2"), "\"2\" in dat.conf is not known; known are NETDEV|");
	CHECK_HAS_STR(said(&iw_kind, "readsink=shut dev0"),
		      "\"readsink=shut\" in dat.conf is not possible; readsink, ");
	CHECK_HAS_STR(said(&iw_kind, ""), "dat.conf does not say which adapter");
}

static void gid_is_a_number_and_roce_a_version(void)
{
	REQUIRE(opened(&ib_kind, MELLANOX, 4119, "dev0 7"));
	CHECK_EQ_INT(ia.opt.gid, -1);
	CHECK_EQ_INT(ia.opt.roce, RDMA_ROCE_ANY);
	REQUIRE(opened(&ib_kind, MELLANOX, 4119, "dev0 gid=3 roce=v2"));
	CHECK_EQ_INT(ia.opt.gid, 3);
	CHECK_EQ_INT(ia.opt.roce, RDMA_ROCE_V2);
	CHECK_HAS_STR(said(&ib_kind, "dev0 gid=-1"), "gid=-1 in dat.conf is not the index of a GID");
	CHECK_HAS_STR(said(&ib_kind, "dev0 gid=65536"), "gid=65536 in dat.conf is not the index of a GID");
	CHECK_HAS_STR(said(&ib_kind, "dev0 gid="), "gid= in dat.conf is not the index of a GID");
	CHECK_HAS_STR(said(&ib_kind, "dev0 roce=v3"), "\"roce=v3\" in dat.conf is not possible; roce, ");
}

static void quirk_of_iwarp_is_refused_for_another_device(void)
{
	CHECK_HAS_STR(
		said(&ib_kind, "dev0 1 quirk=deaf_start"),
		"dat.conf asks for quirk=deaf_start, which is for iWARP devices only, and verbs device dev0 is InfiniBand or RoCE");
	/* it is no error to remove a quirk that the device does not have */
	CHECK(opened(&ib_kind, MELLANOX, 0, "dev0 1 quirk=-deaf_start"));
}

static const struct check_test tests[] = {
	CHECK_TEST(device_that_is_not_in_the_table_has_what_its_transport_has),
	CHECK_TEST(line_of_a_part_is_of_no_other_part),
	CHECK_TEST(line_of_a_device_goes_before_that_of_its_transport),
	CHECK_TEST(only_devices_without_a_mapped_doorbell_are_posted_to_by_a_write),
	CHECK_TEST(dat_conf_switches_each_quirk),
	CHECK_TEST(what_is_switched_off_is_shown_with_the_reason),
	CHECK_TEST(several_are_switched_and_the_last_word_counts),
	CHECK_TEST(readsink_is_another_name_of_write_sinks),
	CHECK_TEST(unknown_name_is_refused_with_the_nearest_one),
	CHECK_TEST(unknown_name_that_is_near_to_none_is_refused_without_one),
	CHECK_TEST(names_of_ofed_in_the_environment_are_taken_and_dat_conf_goes_before),
	CHECK_TEST(second_plain_word_is_a_port_and_there_is_no_third),
	CHECK_TEST(gid_is_a_number_and_roce_a_version),
	CHECK_TEST(quirk_of_iwarp_is_refused_for_another_device),
	CHECK_END
};

static const struct check_suite suite = { .name = "rdma devices", .tests = tests };

CHECK_SUITES(&suite);
