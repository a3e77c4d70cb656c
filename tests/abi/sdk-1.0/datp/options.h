/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <datp/options.h>: the options in the instance data of an adapter, as a table. Since SDK 0.6.
 *
 * Instance data are words with blanks between them. A word NAME=VALUE is an option; a word without
 * an equals sign, such as an address, has a meaning that only the plugin knows. A plugin describes
 * its options in a table, and libdatp reads the words into a struct of the plugin's:
 *
 *	struct my_options { bool checksum; uint32_t order, credits; uint64_t window; };
 *	static const char *const my_orders[] = { "strict", "loose", NULL };
 *	static const struct datp_option my_table[] = {
 *		DATP_OPTION_BOOL("checksum", struct my_options, checksum, true,
 *				 "whether each message carries a checksum"),
 *		DATP_OPTION_ENUM("order", struct my_options, order, 0, my_orders,
 *				 "the order of RDMA Writes at the target"),
 *		DATP_OPTION_COUNT("credits", struct my_options, credits, 64, 1, 65536,
 *				  "how many messages may be on their way"),
 *		DATP_OPTION_BYTES("window", struct my_options, window, 1 << 20, 4096, 1 << 30,
 *				  "how much may be on its way"),
 *	};
 *	static const struct datp_options my_options = DATP_OPTIONS(my_table, NULL, NULL);
 *
 *	static enum datp_err my_ia_open(struct datp_ia *ia, const char *params)
 *	{
 *		struct my_options *options = &((struct my_ia *)ia)->options;
 *		char why[DATP_WHY_MAX];
 *		enum datp_err err;
 *
 *		datp_options_preset(&my_options, options);
 *		err = datp_options_take(&my_options, params, options, why, sizeof(why));
 *		if (err)
 *			datp_log(1, "%s: %s", ia->name, why);
 *		...
 *
 * VALUES. A bool is "on" or "off". An enum is one of a list of words. The others are decimal
 * numbers without a sign: a count has no unit, bytes may end with k, m or g, in either case, for
 * 2^10, 2^20 and 2^30, and a time is in milliseconds, or ends with ms or s. If an option occurs
 * twice, the later word counts.
 *
 * MESSAGES. A word that is not taken is named, with the reason and the values that are possible. If
 * the name of the option is not known, the message has the nearest one and the list of all.
 *
 * THREADS. Any thread may call the functions, under any lock: they have no state.
 */
#ifndef DATP_OPTIONS_H
#define DATP_OPTIONS_H

#include <datp/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A buffer of this size has room for any of the messages, unless a table is very long. */
#define DATP_WHY_MAX 1024

enum datp_option_kind {
	DATP_OPTION_IS_BOOL,  /* a bool */
	DATP_OPTION_IS_ENUM,  /* the index of a word in `words` */
	DATP_OPTION_IS_COUNT, /* a number */
	DATP_OPTION_IS_BYTES, /* a number of bytes */
	DATP_OPTION_IS_TIME,  /* a number of milliseconds */
	DATP_OPTION_IS_OTHER  /* the plugin's own function takes the value */
};

/* One option. The macros below initialise it, and check the type of the field. */
struct datp_option {
	const char *name; /* what stands before the equals sign */
	/* what the option is for, as a part of a sentence: "how many messages may be on their way" */
	const char *help;
	enum datp_option_kind kind;
	/*
	 * The field of the plugin's struct: a bool, or a number of 4 or 8 bytes (an enum is a number,
	 * too). The size is 0 for IS_OTHER.
	 */
	uint32_t offset, size;
	/* the value before any word is read; it may be outside of the range, to mean "not given" */
	uint64_t preset;
	uint64_t least, most;	  /* IS_COUNT, IS_BYTES, IS_TIME: the range, both ends included */
	const char *const *words; /* IS_ENUM: the values, in their order; NULL ends the list */
	/*
	 * IS_OTHER: what the value looks like, for the list of all options ("FILE"); and the function
	 * that takes it. `to` is the plugin's struct. If it does not return DATP_OK, it has written
	 * the reason into why[size], as snprintf() does, or nothing: then the message says that the
	 * value is not possible.
	 */
	const char *form;
	enum datp_err (*take)(void *to, const char *value, char *why, size_t size);
};

/* The options of a plugin. DATP_OPTIONS() initialises it. */
struct datp_options {
	uint32_t option_size; /* sizeof(struct datp_option), to which a later SDK may add fields */
	uint32_t count;
	const struct datp_option *table;
	/*
	 * What the words without an equals sign are, for the list of all options ("ADDRESS"); and the
	 * function that takes one, as that of an option does. Both are NULL if there are no such words.
	 */
	const char *form;
	enum datp_err (*take)(void *to, const char *word, char *why, size_t size);
};

#define DATP_OPTIONS(table, form, take)                                                            \
	{ sizeof((table)[0]), sizeof(table) / sizeof((table)[0]), (table), (form), (take) }

/*
 * The size of a field that an option sets. It compiles only if the field has a type that the option
 * can set and the largest value fits.
 */
#ifdef __cplusplus
extern "C++" {
template <typename Field, bool Is_bool, uint64_t Most> constexpr uint32_t datp_option_size()
{
	static_assert(std::is_same<Field, bool>::value == Is_bool &&
			      (Is_bool || std::is_same<Field, uint32_t>::value ||
			       std::is_same<Field, uint64_t>::value),
		      "the field is a bool for DATP_OPTION_BOOL(), else a uint32_t or a uint64_t");
	static_assert(sizeof(Field) == 8 || Most <= UINT32_MAX, "the field holds the largest value");
	return static_cast<uint32_t>(sizeof(Field));
}
}
#define DATP_OPTION_SIZE(type, field, is_bool, most)                                               \
	datp_option_size<decltype(static_cast<type *>(nullptr)->field), (is_bool), (most)>()
#else
#define DATP_OPTION_SIZE(type, field, is_bool, most)                                               \
	((uint32_t)(sizeof(((type *)0)->field) +                                                   \
		    0 * sizeof(struct {                                                            \
			    DATP_STATIC_ASSERT(                                                    \
				    _Generic(((type *)0)->field, bool: (is_bool),                  \
					     uint32_t: !(is_bool), uint64_t: !(is_bool),           \
					     default: 0),                                          \
				    "the field is a bool for DATP_OPTION_BOOL(), else a uint32_t " \
				    "or a uint64_t");                                              \
			    DATP_STATIC_ASSERT(sizeof(((type *)0)->field) == 8 ||                  \
						       (most) <= UINT32_MAX,                       \
					       "the field holds the largest value");               \
			    char unused;                                                           \
		    })))
#endif

#define DATP_OPTION_(name, help, kind, type, field, preset, least, most, words)                    \
	{ (name), (help), (kind), (uint32_t)offsetof(type, field),                                 \
	  DATP_OPTION_SIZE(type, field, (kind) == DATP_OPTION_IS_BOOL, most), (preset), (least),   \
	  (most), (words), NULL, NULL }

/* `type` is the plugin's struct, and `field` a member of it. */
#define DATP_OPTION_BOOL(name, type, field, preset, help)                                          \
	DATP_OPTION_(name, help, DATP_OPTION_IS_BOOL, type, field, preset, 0, 1, NULL)
#define DATP_OPTION_ENUM(name, type, field, preset, words, help)                                   \
	DATP_OPTION_(name, help, DATP_OPTION_IS_ENUM, type, field, preset, 0, UINT32_MAX, words)
#define DATP_OPTION_COUNT(name, type, field, preset, least, most, help)                            \
	DATP_OPTION_(name, help, DATP_OPTION_IS_COUNT, type, field, preset, least, most, NULL)
#define DATP_OPTION_BYTES(name, type, field, preset, least, most, help)                            \
	DATP_OPTION_(name, help, DATP_OPTION_IS_BYTES, type, field, preset, least, most, NULL)
#define DATP_OPTION_TIME(name, type, field, preset, least, most, help)                             \
	DATP_OPTION_(name, help, DATP_OPTION_IS_TIME, type, field, preset, least, most, NULL)
#define DATP_OPTION_OTHER(name, form, take, help)                                                  \
	{ (name), (help), DATP_OPTION_IS_OTHER, 0, 0, 0, 0, 0, NULL, (form), (take) }

/* Sets every field that the table names to its preset value. Other fields stay as they are. */
DATP_API void datp_options_preset(const struct datp_options *options, void *to);
/*
 * Reads the words of `params`, which may be NULL, into the struct `to`. Returns DATP_OK;
 * DATP_ERR_PARAM if a word is not an option or has a value that is not possible; DATP_ERR_MEMORY; or
 * what a function of the table returned. In each of these cases why[size] has a sentence without the
 * adapter's name, which the caller puts before it for datp_log() or datp_wrap_refuse(), and the words
 * up to the one that was not taken have been read.
 */
DATP_API enum datp_err datp_options_take(const struct datp_options *options, const char *params,
					 void *to, char *why, size_t size);
/*
 * Returns the one of `names` (NULL ends the list) that `typed` is probably meant for, or NULL if it
 * resembles none of them: for the messages of a plugin that has lists of names of its own.
 */
DATP_API const char *datp_nearest(const char *typed, const char *const *names);

#ifdef __cplusplus
}
#endif

#endif
