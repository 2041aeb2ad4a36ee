#![doc = include_str!("../docs/security.md")]
#![doc = include_str!("../docs/ciphers.md")]
