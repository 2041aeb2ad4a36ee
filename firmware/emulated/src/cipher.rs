//! Measures the candidates for sealing frames on this chip and prints the results for the test that reads them.

use core::hint::black_box;

use ascon_aead::AsconAead128;
use chacha20poly1305::ChaCha20Poly1305;
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use semihosting::println;
use siphasher::sip128::SipHasher24;

use crate::counter::Counter;
use crate::stack;

/// The lengths of the messages that are sealed and opened.
const LENGTHS: [usize; 2] = [300, 800];
/// Repetitions, for the mean.
const TIMES: u64 = 10;
/// The length of a nonce and of a tag.
const EDGES: usize = 32;

/// One way to seal a message: `buffer` is room for the nonce, the message, and room for the tag.
pub trait Cipher {
    /// Seals a message in place.
    fn seal(buffer: &mut [u8]);
    /// Opens it in place and returns whether it was genuine.
    fn open(buffer: &mut [u8]) -> bool;
}

/// Does nothing: the baseline.
#[derive(Debug)]
pub struct Nothing;

/// Ascon-AEAD128 with a given nonce.
#[derive(Debug)]
pub struct Ascon;

/// ChaCha20-Poly1305 with a given nonce.
#[derive(Debug)]
pub struct ChaCha;

/// A cipher whose nonce is the 128-bit SipHash-2-4 of the message.
#[derive(Debug)]
pub struct Hashed<C>(C);

/// Ascon-AEAD128 whose nonce is Ascon's tag of the message, under a separate key.
#[derive(Debug)]
pub struct AsconTwice;

const KEY: [u8; 32] = [7; 32];

/// Nonce, message and tag.
fn parts(buffer: &mut [u8]) -> (&mut [u8; 16], &mut [u8], &mut [u8; 16]) {
    let (nonce, rest) = buffer.split_first_chunk_mut().expect("room for a nonce");
    let (message, tag) = rest.split_last_chunk_mut().expect("room for a tag");
    (nonce, message, tag)
}

fn ascon(half: usize) -> AsconAead128 {
    let key: [u8; 16] =
        black_box(KEY)[16 * half..16 * half + 16].try_into().expect("sixteen bytes");
    AsconAead128::new(&key.into())
}

impl Cipher for Nothing {
    fn seal(_: &mut [u8]) {}

    fn open(_: &mut [u8]) -> bool {
        true
    }
}

impl Cipher for Ascon {
    fn seal(buffer: &mut [u8]) {
        let (nonce, message, tag) = parts(buffer);
        let made = ascon(0).encrypt_inout_detached((&*nonce).into(), &[], message.into());
        *tag = made.expect("a short message").into();
    }

    fn open(buffer: &mut [u8]) -> bool {
        let (nonce, message, tag) = parts(buffer);
        let (nonce, tag) = ((&*nonce).into(), (&*tag).into());
        ascon(0).decrypt_inout_detached(nonce, &[], message.into(), tag).is_ok()
    }
}

impl Cipher for ChaCha {
    fn seal(buffer: &mut [u8]) {
        let (nonce, message, tag) = parts(buffer);
        let nonce = nonce.first_chunk::<12>().expect("twelve bytes").into();
        let cipher = ChaCha20Poly1305::new(&black_box(KEY).into());
        let made = cipher.encrypt_inout_detached(nonce, &[], message.into());
        *tag = made.expect("a short message").into();
    }

    fn open(buffer: &mut [u8]) -> bool {
        let (nonce, message, tag) = parts(buffer);
        let nonce = nonce.first_chunk::<12>().expect("twelve bytes").into();
        let cipher = ChaCha20Poly1305::new(&black_box(KEY).into());
        cipher.decrypt_inout_detached(nonce, &[], message.into(), (&*tag).into()).is_ok()
    }
}

impl<C: Cipher> Cipher for Hashed<C> {
    fn seal(buffer: &mut [u8]) {
        let (nonce, message, _) = parts(buffer);
        let key = black_box(KEY).first_chunk().copied().expect("sixteen bytes");
        *nonce = SipHasher24::new_with_key(&key).hash(message).as_bytes();
        C::seal(buffer);
    }

    fn open(buffer: &mut [u8]) -> bool {
        C::open(buffer)
    }
}

impl Cipher for AsconTwice {
    fn seal(buffer: &mut [u8]) {
        let (nonce, message, _) = parts(buffer);
        let made = ascon(1).encrypt_inout_detached(&[0; 16].into(), message, (&mut [][..]).into());
        *nonce = made.expect("a short message").into();
        Ascon::seal(buffer);
    }

    fn open(buffer: &mut [u8]) -> bool {
        Ascon::open(buffer)
    }
}

/// Measures a cipher: the instructions and the stack needed to seal and open a message of each length.
pub fn measure<C: Cipher>() {
    let mut counter = Counter::new();
    for len in LENGTHS {
        let mut buffer = [0x5a; 800 + EDGES];
        let used = &mut buffer[..len + EDGES];
        let mut both = || {
            C::seal(black_box(used));
            assert!(C::open(black_box(used)), "a sealed message does not open");
        };
        println!("stack-{len} {}", stack::depth(&mut both));
        let instructions = counter.count(|| (0..TIMES).for_each(|_| both()));
        println!("instructions-{len} {}", instructions / TIMES);
        assert!(used[16..16 + len].iter().all(|&byte| byte == 0x5a), "the message changed");
    }
}
