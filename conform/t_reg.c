/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_registry_add_provider and _remove_provider, with a provider that consists only of a function table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

#include API_REGISTRY_HEADER

static DAT_RETURN openv(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia,
			DAT_UINT32 major, DAT_UINT32 minor)
{
	return dat_ia_openv((char *)name, qlen, async, ia, major, minor, DAT_FALSE);
}

/* A provider within this process: a function table of which the registry calls only the open. */
static DAT_RETURN fake_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			    DAT_IA_HANDLE *ia)
{
	(void)name;
	(void)qlen;
	(void)async;
	(void)ia;
	return DAT_CLASS_ERROR |
	       DAT_INSUFFICIENT_RESOURCES; /* this code shows that the registry called this function */
}

static DAT_PROVIDER fake = { .device_name = "conform_fake", .ia_open_func = fake_open };

static DAT_PROVIDER_INFO info_of(const char *name)
{
	DAT_PROVIDER_INFO info;

	memset(&info, 0, sizeof(info));
	snprintf(info.ia_name, sizeof(info.ia_name), "%s", name);
	info.dapl_version_major = API_MAJOR;
	info.dapl_version_minor = API_MINOR;
	return info;
}

CLAUSE_BARE("REG_ADD-01", "REG_ADD-02", "REG_ADD-04", "REG_ADD-05", "REG_ADD-06", "REG_ADD-07",
	    "REG_REMOVE-01", "REG_REMOVE-02", "REG_REMOVE-05")
{
	static const char *const names[] = { "conform_fake", "conform_fake2", "conform_fake3" };
	DAT_PROVIDER_INFO info = info_of("conform_fake"), empty = info_of("");
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_PROVIDER second = fake;

	second.ia_open_func = NULL;
	ABOUT("REG_ADD-01");
	CHECK_RET(dat_registry_add_provider(&fake, &info), DAT_SUCCESS);
	ABOUT("REG_ADD-02");
	CHECK_RET(dat_registry_add_provider(&second, &info), DAT_PROVIDER_ALREADY_REGISTERED);
	ABOUT("REG_ADD-07");
	CHECK_RET(openv("conform_fake", 8, &async, &ia, API_MAJOR, API_MINOR), DAT_INSUFFICIENT_RESOURCES);
	ABOUT("REG_ADD-06");
	CHECK_RET(openv("conform_fake", 8, &async, &ia, API_OTHER_MAJOR, 0), DAT_PROVIDER_NOT_FOUND);
	CHECK_RET(openv("conform_fake", 8, &async, &ia, API_MAJOR, API_MINOR + 1), DAT_PROVIDER_NOT_FOUND);
	ABOUT("REG_ADD-04");
	CHECK_RET(dat_registry_add_provider(NULL, &info), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_registry_add_provider(&fake, NULL), DAT_INVALID_PARAMETER);
	CHECK_RET(dat_registry_add_provider(&fake, &empty), DAT_INVALID_PARAMETER);
	ABOUT("REG_ADD-05");
	for (int i = 1; i < 3; i++) {
		info = info_of(names[i]);
		CHECK_RET(dat_registry_add_provider(&fake, &info), DAT_SUCCESS);
		CHECK_RET(openv(names[i], 8, &async, &ia, API_MAJOR, API_MINOR), DAT_INSUFFICIENT_RESOURCES);
	}
	ABOUT("REG_REMOVE-01");
	for (int i = 0; i < 3; i++) {
		info = info_of(names[i]);
		CHECK_RET(dat_registry_remove_provider(&fake, &info), DAT_SUCCESS);
	}
	ABOUT("REG_REMOVE-02");
	CHECK_RET(dat_registry_remove_provider(&fake, &info), DAT_INVALID_PARAMETER);
	ABOUT("REG_REMOVE-05");
	CHECK_RET(openv("conform_fake", 8, &async, &ia, API_MAJOR, API_MINOR), DAT_PROVIDER_NOT_FOUND);
}

CLAUSE_BARE("REG_ADD-03")
{
	DAT_RETURN ret = DAT_SUCCESS;
	char name[64];

	for (int i = 0; i < 2000 && ret == DAT_SUCCESS; i++) {
		DAT_PROVIDER_INFO info;

		snprintf(name, sizeof(name), "conform_fake_%d", i);
		info = info_of(name);
		ret = dat_registry_add_provider(&fake, &info);
	}
	CHECK_RET_IN(ret, DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
}

/* The first word of each object of an adapter points to its function table. */
CLAUSE("REG_REMOVE-03", "REG_REMOVE-04")
{
	DAT_PROVIDER *provider = *(DAT_PROVIDER **)t.pz;
	DAT_PROVIDER_INFO info = info_of(t.ia_name);
	struct kit_pair p;

	ABOUT("REG_REMOVE-03");
	kit_pair(&p, NULL);
	info.is_thread_safe = t.prov.is_thread_safe;
	CHECK_RET(dat_registry_remove_provider(provider, &info), DAT_PROVIDER_IN_USE);
	ABOUT("REG_REMOVE-04");
	kit_exchange(&p.a, &p.b);
	CHECK_RET(dat_ia_query(t.ia, NULL, 0, NULL, 0, NULL), DAT_SUCCESS);
}

/* Runs in a process that has not used the registry before. */
CLAUSE_BARE("REG_LIST-05")
{
	static DAT_PROVIDER_INFO infos[4];
	DAT_PROVIDER_INFO *list[] = { &infos[0], &infos[1], &infos[2], &infos[3] };
	DAT_COUNT n = -1;
	DAT_RETURN ret;

	MUST(setenv("DAT_OVERRIDE", "/nonexistent/dat.conf", 1) == 0);
	ret = dat_registry_list_providers(4, &n, list);
	/* Other vendors' registries treat a missing file as an empty one. */
	CHECK_RET_IN(ret, DAT_INTERNAL_ERROR, DAT_SUCCESS);
	CHECK_THAT(ret != DAT_SUCCESS || n == 0);
}

/* Whether or not the adapter's entry is removed after the last close, the adapter can be opened again. */
CLAUSE_BARE("PROV_FINI-04")
{
	struct kit_list all;
	DAT_COUNT n = 0, there = 0;

	for (int i = 0; i < 3; i++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
		DAT_IA_HANDLE ia;

		MUST_RET(dat_ia_open((char *)t.ia_name, 8, &async, &ia), DAT_SUCCESS);
		MUST_RET(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	}
	MUST(kit_list_make(&all));
	MUST_RET(dat_registry_list_providers(all.room, &n, all.list), DAT_SUCCESS);
	for (int i = 0; i < n; i++)
		there += !strcmp(all.infos[i].ia_name, t.ia_name);
	kit_list_free(&all);
	CHECK_THAT(there <= 1);
	judge_outcome("the entry is %s", there ? "still there" : "gone, and comes back");
}
