// SPDX-License-Identifier: GPL-2.0-only
/*
 * inject_target: functions to inject into, one of each error type and one
 * behind a static key, for tests that must not depend on what the rest of the
 * kernel does.
 *
 * Reading a file in debugfs calls the function of that name once, and shows
 * what it returned.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/error-injection.h>
#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/slab.h>

/* Or the compiler does without calls whose results it knows. */
#ifndef __injection_hook
#define __injection_hook __attribute__((__noipa__))
#endif

static DEFINE_STATIC_KEY_FALSE(inject_target_active);

#ifdef ALLOW_ERROR_INJECTION_KEY
#define call_keyed() static_branch_unlikely(&inject_target_active)
#else
/* A kernel without keys: nobody could raise this one. */
#define ALLOW_ERROR_INJECTION_KEY(function, type, key) \
	ALLOW_ERROR_INJECTION(function, type)
#define call_keyed() true
#endif

/* What the functions return by themselves: neither NULL nor an error. */
#define FINE ZERO_SIZE_PTR

static __injection_hook void *inject_target_null(void)
{
	return FINE;
}
ALLOW_ERROR_INJECTION(inject_target_null, NULL);

static __injection_hook int inject_target_errno(void)
{
	return 0;
}
ALLOW_ERROR_INJECTION(inject_target_errno, ERRNO);

static __injection_hook void *inject_target_errno_null(void)
{
	return FINE;
}
ALLOW_ERROR_INJECTION(inject_target_errno_null, ERRNO_NULL);

static __injection_hook bool inject_target_true(void)
{
	return false;
}
ALLOW_ERROR_INJECTION(inject_target_true, TRUE);

static __injection_hook int inject_target_keyed(void)
{
	return 0;
}
ALLOW_ERROR_INJECTION_KEY(inject_target_keyed, ERRNO, inject_target_active);

static int null_get(void *data, u64 *value)
{
	*value = (long)inject_target_null();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(null_fops, null_get, NULL, "%lld\n");

static int errno_get(void *data, u64 *value)
{
	*value = inject_target_errno();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(errno_fops, errno_get, NULL, "%lld\n");

static int errno_null_get(void *data, u64 *value)
{
	*value = (long)inject_target_errno_null();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(errno_null_fops, errno_null_get, NULL, "%lld\n");

static int true_get(void *data, u64 *value)
{
	*value = inject_target_true();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(true_fops, true_get, NULL, "%lld\n");

static int keyed_get(void *data, u64 *value)
{
	*value = call_keyed() ? inject_target_keyed() : 0;
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(keyed_fops, keyed_get, NULL, "%lld\n");

static struct dentry *folder;

static int __init inject_target_init(void)
{
	folder = debugfs_create_dir("inject_target", NULL);
	debugfs_create_file_unsafe("null", 0400, folder, NULL, &null_fops);
	debugfs_create_file_unsafe("errno", 0400, folder, NULL, &errno_fops);
	debugfs_create_file_unsafe("errno_null", 0400, folder, NULL,
				   &errno_null_fops);
	debugfs_create_file_unsafe("true", 0400, folder, NULL, &true_fops);
	debugfs_create_file_unsafe("keyed", 0400, folder, NULL, &keyed_fops);

	return 0;
}

static void __exit inject_target_exit(void)
{
	debugfs_remove(folder);
}

module_init(inject_target_init);
module_exit(inject_target_exit);

MODULE_DESCRIPTION("Functions for tests of error injection");
MODULE_AUTHOR("The inject developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("1");
