/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of instance data: what is read into a plugin's struct, and the message about a word that is refused. */
#include <datp/options.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

struct mine {
	char before; /* so that a field is not at the beginning of the struct */
	bool copy;
	uint32_t order, credits, wait_ms;
	uint64_t window;
	char place[16], level[16];
};

static const char *const orders[] = { "strict", "loose", "none", NULL };

static enum datp_err take_place(void *to, const char *word, char *why, size_t size)
{
	struct mine *mine = to;

	if (mine->place[0]) {
		snprintf(why, size, "\"%s\" is a second place", word);
		return DATP_ERR_ADDRESS_MALFORMED;
	}
	if (strlen(word) >= sizeof(mine->place))
		return DATP_ERR_LENGTH;
	strcpy(mine->place, word);
	return DATP_OK;
}

static enum datp_err take_level(void *to, const char *value, char *why, size_t size)
{
	if (!*value) {
		snprintf(why, size, "level= has no value");
		return DATP_ERR_ABORT;
	}
	if (strlen(value) >= sizeof(((struct mine *)to)->level))
		return DATP_ERR_LENGTH;
	strcpy(((struct mine *)to)->level, value);
	return DATP_OK;
}

static const struct datp_option table[] = {
	DATP_OPTION_BOOL("copy", struct mine, copy, true, "whether data are copied"),
	DATP_OPTION_ENUM("order", struct mine, order, 1, orders, "the order of the messages"),
	DATP_OPTION_COUNT("credits", struct mine, credits, 64, 2, 100, "how many messages are on their way"),
	DATP_OPTION_TIME("wait", struct mine, wait_ms, 0, 1, 60000, "how long to wait"),
	DATP_OPTION_BYTES("window", struct mine, window, 1 << 20, 0, UINT64_MAX, "how much is on its way"),
	DATP_OPTION_OTHER("level", "NAME", take_level, "the level of service"),
};
static const struct datp_options options = DATP_OPTIONS(table, "PLACE", take_place);
static struct mine mine;
static char why[DATP_WHY_MAX];

static enum datp_err take(const char *params)
{
	memset(&mine, 0, sizeof(mine));
	why[0] = '\0';
	datp_options_preset(&options, &mine);
	return datp_options_take(&options, params, &mine, why, sizeof(why));
}

/* Returns why the words are refused; "" if they are accepted. */
static const char *refused(const char *params, enum datp_err with)
{
	CHECK_EQ_INT(take(params), with);
	return why;
}

/* ------------------------------------------------------------------ values */

static void fields_without_a_word_have_their_presets(void)
{
	CHECK_EQ_INT(take(""), DATP_OK);
	CHECK(mine.copy);
	CHECK_EQ_INT(mine.order, 1);
	CHECK_EQ_INT(mine.credits, 64);
	CHECK_EQ_INT(mine.wait_ms, 0); /* outside of the range: not given */
	CHECK_EQ_INT(mine.window, 1 << 20);
	CHECK_EQ_STR(mine.level, "");
	CHECK_EQ_INT(take(NULL), DATP_OK);
	CHECK_EQ_INT(mine.credits, 64);
}

static void words_set_their_fields_and_no_others(void)
{
	CHECK_EQ_INT(take("  copy=off\torder=none here credits=2 wait=60000 window=0 level=a=b "), DATP_OK);
	CHECK(!mine.copy);
	CHECK_EQ_INT(mine.order, 2);
	CHECK_EQ_INT(mine.credits, 2);
	CHECK_EQ_INT(mine.wait_ms, 60000);
	CHECK_EQ_INT(mine.window, 0);
	CHECK_EQ_STR(mine.place, "here");
	CHECK_EQ_STR(mine.level, "a=b");
	CHECK_EQ_INT(mine.before, 0);
}

static void later_word_counts(void)
{
	CHECK_EQ_INT(take("copy=off credits=5 copy=on credits=100"), DATP_OK);
	CHECK(mine.copy);
	CHECK_EQ_INT(mine.credits, 100);
}

static void bytes_and_times_have_units(void)
{
	CHECK_EQ_INT(take("window=3k wait=2s"), DATP_OK);
	CHECK_EQ_INT(mine.window, 3072);
	CHECK_EQ_INT(mine.wait_ms, 2000);
	CHECK_EQ_INT(take("window=7M wait=250ms"), DATP_OK);
	CHECK_EQ_INT(mine.window, 7 << 20);
	CHECK_EQ_INT(mine.wait_ms, 250);
	CHECK_EQ_INT(take("window=16G"), DATP_OK);
	CHECK(mine.window == UINT64_C(16) << 30);
	CHECK_EQ_INT(take("window=18446744073709551615"), DATP_OK);
	CHECK(mine.window == UINT64_MAX);
}

/* ------------------------------------------------------------------ refusals */

static void number_out_of_range_is_refused_with_the_range(void)
{
	static const char *const bad[] = { "credits=1", "credits=101", "credits=0", "wait=61s", "wait=60001",
					   "credits=99999999999999999999", "window=18446744073709551616",
					   "window=99999999999G" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_HAS_STR(refused(bad[i], DATP_ERR_PARAM), "in dat.conf is out of range; ");
	CHECK_EQ_STR(refused("credits=1", DATP_ERR_PARAM),
		     "\"credits=1\" in dat.conf is out of range; credits, how many messages are on their way, is 2 to 100");
	CHECK_EQ_STR(refused("wait=61s", DATP_ERR_PARAM),
		     "\"wait=61s\" in dat.conf is out of range; wait, how long to wait, is 1 to 60000 milliseconds");
	CHECK_EQ_INT(mine.wait_ms, 0);
}

static void what_is_no_number_is_refused(void)
{
	static const char *const bad[] = { "credits=", "credits=x", "credits=-5", "credits=+5", "credits=5k", "credits=5.0",
					   "credits=0x5", "wait=5k", "wait=5sec", "wait=ms", "window=5ms", "window=5kb",
					   "window=k" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_HAS_STR(refused(bad[i], DATP_ERR_PARAM), "in dat.conf is not a number; ");
}

static void word_that_is_not_in_the_list_is_refused_with_the_list(void)
{
	CHECK_EQ_STR(refused("copy=yes", DATP_ERR_PARAM),
		     "\"copy=yes\" in dat.conf is not possible; copy, whether data are copied, is on or off");
	CHECK_EQ_STR(refused("order=", DATP_ERR_PARAM), "\"order=\" in dat.conf is not possible; order, the order of the "
							"messages, is strict, loose or none");
	CHECK_HAS_STR(refused("order=stric", DATP_ERR_PARAM), "is not possible");
	CHECK_HAS_STR(refused("copy=ON", DATP_ERR_PARAM), "is not possible");
}

static void unknown_option_is_refused_with_the_nearest_one_and_the_list(void)
{
	static const char list[] = "nown are PLACE, copy=on|off, order=strict|loose|none, credits=2..100, wait=1..60000, "
				   "window=0..18446744073709551615, level=NAME";

	CHECK_HAS_STR(refused("credit=5", DATP_ERR_PARAM), "\"credit=5\" in dat.conf is not known; did you mean credits? K");
	CHECK_HAS_STR(why, list);
	CHECK_HAS_STR(refused("colour=blue", DATP_ERR_PARAM), "\"colour=blue\" in dat.conf is not known; k");
	CHECK_HAS_STR(why, list);
	CHECK_HAS_STR(refused("=5", DATP_ERR_PARAM), "is not known");
	CHECK_HAS_STR(refused("COPY=on", DATP_ERR_PARAM), "is not known");
	CHECK_HAS_STR(refused("copy =on", DATP_ERR_PARAM), "\"=on\" in dat.conf is not known"); /* copy is a place */
}

static void function_of_the_plugin_gives_the_reason_or_leaves_it_to_libdatp(void)
{
	CHECK_EQ_STR(refused("here there", DATP_ERR_ADDRESS_MALFORMED), "\"there\" is a second place");
	CHECK_EQ_STR(mine.place, "here");
	CHECK_HAS_STR(refused("a_place_that_is_too_long", DATP_ERR_LENGTH),
		      "\"a_place_that_is_too_long\" in dat.conf is not known; known are PLACE, ");
	CHECK_EQ_STR(refused("level=", DATP_ERR_ABORT), "level= has no value");
	CHECK_EQ_STR(refused("level=a_level_that_is_too_long", DATP_ERR_LENGTH),
		     "\"level=a_level_that_is_too_long\" in dat.conf is not possible; level, the level of service, is NAME");
}

static void words_after_the_one_that_is_refused_are_not_read(void)
{
	CHECK_EQ_INT(take("credits=7 wait=no copy=off"), DATP_ERR_PARAM);
	CHECK_EQ_INT(mine.credits, 7);
	CHECK(mine.copy);
}

static void word_without_an_equals_sign_is_refused_where_there_are_none(void)
{
	static const struct datp_options bare = DATP_OPTIONS(table, NULL, NULL);

	CHECK_EQ_INT(datp_options_take(&bare, "copy", &mine, why, sizeof(why)), DATP_ERR_PARAM);
	CHECK_HAS_STR(why, "\"copy\" in dat.conf is not known; did you mean copy? Known are copy=on|off, ");
}

static void message_is_cut_where_there_is_no_room(void)
{
	char room[24];

	memset(room, '#', sizeof(room));
	CHECK_EQ_INT(datp_options_take(&options, "colour=blue", &mine, room, 16), DATP_ERR_PARAM);
	CHECK_EQ_STR(room, "\"colour=blue\" i");
	CHECK_EQ_INT(room[16], '#');
	CHECK_EQ_INT(datp_options_take(&options, "colour=blue", &mine, NULL, 0), DATP_ERR_PARAM);
	CHECK_EQ_INT(datp_options_take(&options, "level=", &mine, NULL, 0), DATP_ERR_ABORT);
}

/* ------------------------------------------------------------------ other SDKs */

/* An option as a later SDK may declare it: libdatp skips the fields that it does not know. */
static void options_of_a_later_sdk_are_read(void)
{
	static const struct {
		struct datp_option option;
		const char *added;
	} later[] = {
		{ DATP_OPTION_BOOL("copy", struct mine, copy, false, "whether data are copied"), "new" },
		{ DATP_OPTION_COUNT("credits", struct mine, credits, 3, 2, 100, "how many messages"), "new" },
	};
	struct datp_options all = { sizeof(later[0]), 2, &later[0].option, NULL, NULL };

	memset(&mine, 0, sizeof(mine));
	datp_options_preset(&all, &mine);
	CHECK(!mine.copy);
	CHECK_EQ_INT(mine.credits, 3);
	CHECK_EQ_INT(datp_options_take(&all, "credits=9 copy=on", &mine, why, sizeof(why)), DATP_OK);
	CHECK(mine.copy);
	CHECK_EQ_INT(mine.credits, 9);
}

/* ------------------------------------------------------------------ names */

static void nearest_name_is_found_if_one_is_near(void)
{
	static const char *const names[] = { "deaf_start", "no_solicited", "region_limit", NULL };

	CHECK_EQ_STR(datp_nearest("daef_start", names), "deaf_start");
	CHECK_EQ_STR(datp_nearest("nosolicited", names), "no_solicited");
	CHECK_EQ_STR(datp_nearest("region_limit", names), "region_limit");
	CHECK(datp_nearest("speed", names) == NULL);
	CHECK(datp_nearest("", names) == NULL);
	CHECK(datp_nearest("a", names + 3) == NULL);
}

static const struct check_test tests[] = {
	CHECK_TEST(fields_without_a_word_have_their_presets),
	CHECK_TEST(words_set_their_fields_and_no_others),
	CHECK_TEST(later_word_counts),
	CHECK_TEST(bytes_and_times_have_units),
	CHECK_TEST(number_out_of_range_is_refused_with_the_range),
	CHECK_TEST(what_is_no_number_is_refused),
	CHECK_TEST(word_that_is_not_in_the_list_is_refused_with_the_list),
	CHECK_TEST(unknown_option_is_refused_with_the_nearest_one_and_the_list),
	CHECK_TEST(function_of_the_plugin_gives_the_reason_or_leaves_it_to_libdatp),
	CHECK_TEST(words_after_the_one_that_is_refused_are_not_read),
	CHECK_TEST(word_without_an_equals_sign_is_refused_where_there_are_none),
	CHECK_TEST(message_is_cut_where_there_is_no_room),
	CHECK_TEST(options_of_a_later_sdk_are_read),
	CHECK_TEST(nearest_name_is_found_if_one_is_near),
	CHECK_END
};

static const struct check_suite suite = { .name = "options of instance data", .tests = tests };

CHECK_SUITES(&suite);
