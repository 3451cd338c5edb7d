//! What can go wrong between us and the helper.

use std::io;

use thiserror::Error;

use super::witness::WitnessError;

/// Why a key is not known, or not held.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum KeysError {
    #[error("cannot open /dev/inject_keys: {0}")]
    Open(io::Error),
    #[error(
        "the module inject_keys speaks version {module} of its interface, this command {}; \
         build and load the module of this version of inject",
        inject_common::keys::VERSION
    )]
    Version { module: u32 },
    #[error(
        "the module inject_keys was built against a kernel without keys; build it against this one \
         (make -C tool-kmod) and load it again"
    )]
    CannotHold,
    #[error("the module inject_keys does not answer: {0}; reload it")]
    Request(io::Error),
    #[error(
        "this kernel guards calls with static keys, and without its helper module no key can be raised; \
         run 'modprobe inject_keys' (or insmod inject_keys.ko) and try again"
    )]
    HelperMissing,
    #[error(
        "{function}: its calls are guarded by the static key {key}, and without the helper module no \
         key can be raised; run 'modprobe inject_keys' (or insmod inject_keys.ko) and try again"
    )]
    HelperMissingFor { function: String, key: String },
    #[error(
        "this kernel guards calls with static keys, but neither the helper module nor an image says \
         which; run 'modprobe inject_keys', or give the running kernel's vmlinux with --image"
    )]
    NobodyKnows,
    #[error(
        "{function}: the kernel's own answer and the image {image} name different static keys; \
         one of them is wrong, so nothing is attached; leave out --image, or give the right one"
    )]
    Disagreement { function: String, image: String },
    #[error("{function}: the kernel will not hold its static key: {source}")]
    Refused { function: String, source: io::Error },
    #[error("the static key of {function} was taken and still reads as off; please report this")]
    StillOff { function: String },
    #[error(transparent)]
    Witness(#[from] WitnessError),
}
