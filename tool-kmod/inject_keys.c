// SPDX-License-Identifier: GPL-2.0-only
/*
 * inject_keys: lets a privileged process hold the static keys that guard
 * injectable functions.
 *
 * References belong to the open file and go when its last descriptor is closed,
 * so a holder that is killed leaves no key up. Whoever passes a descriptor on
 * passes on what it can do, and that it tells which addresses are injectable. The module decides nothing itself: whether a
 * function is injectable, and which key is its own, is the kernel's answer. It
 * adds no code to anybody's call path, so it may be unloaded whenever no file
 * is open.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/error-injection.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "inject_keys.h"

#ifdef injection_key_hold
#define CAN_HOLD (IS_ENABLED(CONFIG_FUNCTION_ERROR_INJECTION))
#else
/* A kernel without keys: the device is there, and says so when asked. */
#define CAN_HOLD 0

struct static_key;

struct injection_hold {
	struct static_key *key;
};

static int injection_key_hold(unsigned long addr,
			      const struct static_key *expected,
			      struct injection_hold *hold)
{
	return -EOPNOTSUPP;
}

static void injection_key_release(struct injection_hold *hold)
{
}

static int injection_key_count(unsigned long addr,
			       const struct static_key *expected)
{
	return -EOPNOTSUPP;
}
#endif

/* One open file. */
struct holder {
	struct mutex lock;	/* protects references and count */
	struct list_head references;
	u32 count;
};

struct reference {
	struct list_head node;
	unsigned long address;
	struct injection_hold hold;
};

static const struct static_key *expected_key(const struct inject_keys_function *f)
{
	return (const struct static_key *)(unsigned long)f->key;
}

/* An address that does not fit the kernel's word names no function. */
static bool fits(u64 address)
{
	return address == (unsigned long)address;
}

static void drop(struct reference *ref)
{
	list_del(&ref->node);
	injection_key_release(&ref->hold);
	kfree(ref);
	/* Each can have patched text, and there can be thousands. */
	cond_resched();
}

static void drop_all(struct list_head *references)
{
	struct reference *ref, *next;

	list_for_each_entry_safe(ref, next, references, node)
		drop(ref);
}

static void free_all(struct list_head *references)
{
	struct reference *ref, *next;

	list_for_each_entry_safe(ref, next, references, node)
		kfree(ref);
}

static int allocate(u32 count, struct list_head *to)
{
	struct reference *ref;

	while (count--) {
		ref = kmalloc(sizeof(*ref), GFP_KERNEL_ACCOUNT);
		if (!ref)
			return -ENOMEM;
		list_add_tail(&ref->node, to);
	}

	return 0;
}

static int take(const struct inject_keys_function *f, struct reference *ref)
{
	if (!fits(f->address) || !fits(f->key))
		return -ENOENT;

	ref->address = f->address;
	return injection_key_hold(ref->address, expected_key(f), &ref->hold);
}

static int hold_all(struct holder *holder,
		    const struct inject_keys_function *functions,
		    struct inject_keys_list *list)
{
	struct reference *ref;
	LIST_HEAD(fresh);
	LIST_HEAD(taken);
	int ret;
	u32 i;

	lockdep_assert_held(&holder->lock);

	if (list->count > INJECT_KEYS_MAX - holder->count)
		return -ENOSPC;

	/* All memory first: the keys let allocations fail. */
	ret = allocate(list->count, &fresh);
	if (ret)
		goto out;

	for (i = 0; i < list->count; i++) {
		ref = list_first_entry(&fresh, struct reference, node);
		ret = take(&functions[i], ref);
		if (ret) {
			list->failed = i;
			drop_all(&taken);
			goto out;
		}
		list_move_tail(&ref->node, &taken);
		cond_resched();
	}

	list_splice_tail(&taken, &holder->references);
	holder->count += list->count;
out:
	free_all(&fresh);
	return ret;
}

static struct reference *find(struct list_head *references, u64 address)
{
	struct reference *ref;

	list_for_each_entry(ref, references, node) {
		if (ref->address == address)
			return ref;
	}

	return NULL;
}

static int release_all(struct holder *holder,
		       const struct inject_keys_function *functions,
		       struct inject_keys_list *list)
{
	struct reference *ref;
	LIST_HEAD(found);
	u32 i;

	lockdep_assert_held(&holder->lock);

	for (i = 0; i < list->count; i++) {
		ref = find(&holder->references, functions[i].address);
		if (!ref) {
			list->failed = i;
			list_splice_tail(&found, &holder->references);
			return -EINVAL;
		}
		list_move_tail(&ref->node, &found);
		cond_resched();
	}

	drop_all(&found);
	holder->count -= list->count;

	return 0;
}

typedef int (*list_operation)(struct holder *holder,
			      const struct inject_keys_function *functions,
			      struct inject_keys_list *list);

static long with_list(struct holder *holder, void __user *argument,
		      list_operation operation)
{
	struct inject_keys_list __user *user = argument;
	struct inject_keys_function *functions;
	struct inject_keys_list list;
	long ret;

	if (copy_from_user(&list, user, sizeof(list)))
		return -EFAULT;
	if (!list.count || list.count > INJECT_KEYS_MAX)
		return -EINVAL;
	if (!fits(list.functions))
		return -EFAULT;

	functions = kvmalloc_array(list.count, sizeof(*functions),
				   GFP_KERNEL_ACCOUNT);
	if (!functions)
		return -ENOMEM;
	if (copy_from_user(functions, u64_to_user_ptr(list.functions),
			   array_size(list.count, sizeof(*functions)))) {
		ret = -EFAULT;
		goto out;
	}

	list.failed = list.count;
	/* Nothing is done yet, so a signal may start it over. */
	if (mutex_lock_interruptible(&holder->lock)) {
		ret = -ERESTARTSYS;
		goto out;
	}
	ret = operation(holder, functions, &list);
	mutex_unlock(&holder->lock);

	/* Tells more about an error; a fault here must not hide it. */
	if (ret && put_user(list.failed, &user->failed))
		pr_debug("the culprit's index could not be written\n");
out:
	kvfree(functions);
	return ret;
}

/* Allocates nothing, so it cannot fail. */
static long release_everything(struct holder *holder)
{
	mutex_lock(&holder->lock);
	drop_all(&holder->references);
	holder->count = 0;
	mutex_unlock(&holder->lock);

	return 0;
}

static long count_one(struct holder *holder, void __user *argument)
{
	struct inject_keys_count count;
	struct reference *ref;
	int ret;

	if (copy_from_user(&count, argument, sizeof(count)))
		return -EFAULT;
	if (!fits(count.function.address) || !fits(count.function.key))
		return -ENOENT;

	if (mutex_lock_interruptible(&holder->lock))
		return -ERESTARTSYS;
	/* Under the lock, so that the whole is never less than our part. */
	ret = injection_key_count(count.function.address,
				  expected_key(&count.function));
	count.held = 0;
	list_for_each_entry(ref, &holder->references, node) {
		if (ref->address == count.function.address)
			count.held++;
	}
	mutex_unlock(&holder->lock);
	if (ret < 0)
		return ret;
	count.count = ret;

	return copy_to_user(argument, &count, sizeof(count)) ? -EFAULT : 0;
}

static long version(void __user *argument)
{
	struct inject_keys_version version = {
		.version = INJECT_KEYS_VERSION,
		.features = CAN_HOLD ? INJECT_KEYS_CAN_HOLD : 0,
	};

	return copy_to_user(argument, &version, sizeof(version)) ? -EFAULT : 0;
}

static long inject_keys_ioctl(struct file *file, unsigned int request,
			      unsigned long argument)
{
	struct holder *holder = file->private_data;
	void __user *user = (void __user *)argument;

	switch (request) {
	case INJECT_KEYS_IOC_VERSION:
		return version(user);
	case INJECT_KEYS_IOC_HOLD:
		return with_list(holder, user, hold_all);
	case INJECT_KEYS_IOC_RELEASE:
		return with_list(holder, user, release_all);
	case INJECT_KEYS_IOC_RELEASE_ALL:
		return release_everything(holder);
	case INJECT_KEYS_IOC_COUNT:
		return count_one(holder, user);
	default:
		return -ENOTTY;
	}
}

static int inject_keys_open(struct inode *inode, struct file *file)
{
	struct holder *holder;

	/* The file's mode can be changed; what it gives away does not change. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;

	holder = kzalloc(sizeof(*holder), GFP_KERNEL_ACCOUNT);
	if (!holder)
		return -ENOMEM;
	mutex_init(&holder->lock);
	INIT_LIST_HEAD(&holder->references);
	file->private_data = holder;

	return nonseekable_open(inode, file);
}

static int inject_keys_release(struct inode *inode, struct file *file)
{
	struct holder *holder = file->private_data;

	/* The last user of the file is gone: nobody else can hold the lock. */
	drop_all(&holder->references);
	mutex_destroy(&holder->lock);
	kfree(holder);

	return 0;
}

static const struct file_operations inject_keys_fops = {
	.owner		= THIS_MODULE,
	.open		= inject_keys_open,
	.release	= inject_keys_release,
	.unlocked_ioctl	= inject_keys_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static struct miscdevice inject_keys_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "inject_keys",
	.mode	= 0600,
	.fops	= &inject_keys_fops,
};

module_misc_device(inject_keys_device);

MODULE_DESCRIPTION("Holds the static keys of injectable functions for user space");
MODULE_AUTHOR("The inject developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("1");
