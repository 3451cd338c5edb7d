/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The interface of /dev/inject_keys. tool-common/src/keys.rs states the same
 * for Rust; a unit test there compares the two.
 *
 * Fixed-width fields and no padding, so 32-bit callers need no translation.
 */
#ifndef INJECT_KEYS_H
#define INJECT_KEYS_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define INJECT_KEYS_VERSION	1

/* What inject_keys_version.features says. */
#define INJECT_KEYS_CAN_HOLD	1	/* the kernel has keys to hold */

/* References that one open file may have at a time. */
#define INJECT_KEYS_MAX		4096

struct inject_keys_version {
	__u32 version;
	__u32 features;
};

/*
 * address: the function's first address, as in /proc/kallsyms.
 * key: the address of the key that the caller believes guards the function; a
 * kernel that knows better refuses with ESTALE. 0: no opinion.
 */
struct inject_keys_function {
	__u64 address;
	__u64 key;
};

/*
 * functions: user address of count struct inject_keys_function.
 * failed: written when the list was read and refused: the index of the function
 * to blame, or count where no single one is. Set it to count before the call.
 */
struct inject_keys_list {
	__u64 functions;
	__u32 count;
	__u32 failed;
};

/* count: references of everybody; held: those of this file. */
struct inject_keys_count {
	struct inject_keys_function function;
	__u32 count;
	__u32 held;
};

#define INJECT_KEYS_IOC_VERSION	_IOR('j', 0x40, struct inject_keys_version)
/* One more reference to each key, or none to any. */
#define INJECT_KEYS_IOC_HOLD	_IOWR('j', 0x41, struct inject_keys_list)
/* Gives back one reference of this file to each key, or none of any. */
#define INJECT_KEYS_IOC_RELEASE	_IOWR('j', 0x42, struct inject_keys_list)
/* Gives back every reference of this file. Cannot fail. */
#define INJECT_KEYS_IOC_RELEASE_ALL	_IO('j', 0x44)
#define INJECT_KEYS_IOC_COUNT	_IOWR('j', 0x43, struct inject_keys_count)

#endif /* INJECT_KEYS_H */
