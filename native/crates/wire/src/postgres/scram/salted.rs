//! The salted password, which costs thousands of hashes: once for all logins of a process that are
//! asked for it with the same salt, as those of one user of a server are.

use std::sync::{LazyLock, Mutex, PoisonError};

use hmac::Mac as _;

use super::{Hash, finish, keyed, xor};

/// As many are remembered.
const MOST: usize = 16;

static REMEMBERED: LazyLock<Mutex<Remembered>> = LazyLock::new(Mutex::default);

/// PBKDF2 with HMAC-SHA-256 and one block: `Hi` of RFC 5802. Remembered; while one login computes
/// it the others wait for that.
pub(super) fn password(password: &[u8], salt: &[u8], rounds: u32) -> Hash {
    let mut remembered = REMEMBERED.lock().unwrap_or_else(PoisonError::into_inner);
    remembered.get((password, salt, rounds), || computed(password, salt, rounds))
}

/// A password, a salt and a count of rounds.
type Key<'k> = (&'k [u8], &'k [u8], u32);

struct Entry {
    password: Vec<u8>,
    salt: Vec<u8>,
    rounds: u32,
    hash: Hash,
}

/// The newest, in the order of their first use.
#[derive(Default)]
struct Remembered(Vec<Entry>);

impl Remembered {
    fn get(&mut self, key: Key<'_>, compute: impl FnOnce() -> Hash) -> Hash {
        let (password, salt, rounds) = key;
        let is_it = |it: &&Entry| (&it.password[..], &it.salt[..], it.rounds) == key;
        if let Some(found) = self.0.iter().find(is_it) {
            return found.hash;
        }
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        let hash = compute();
        self.0.push(Entry { password: password.to_vec(), salt: salt.to_vec(), rounds, hash });
        hash
    }
}

fn computed(password: &[u8], salt: &[u8], rounds: u32) -> Hash {
    // The key's own two hashes are made once and cloned.
    let key = keyed(password);
    let mut first = key.clone();
    first.update(salt);
    first.update(&1_u32.to_be_bytes());
    let mut block = finish(first);
    let mut sum = block;
    for _ in 1..rounds {
        let mut next = key.clone();
        next.update(&block);
        block = finish(next);
        xor(&mut sum, &block);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_computed_once_and_anything_else_anew() {
        let (mut remembered, mut computed) = (Remembered::default(), 0);
        let mut ask = |key: Key<'_>| {
            remembered.get(key, || {
                computed += 1;
                [computed; 32]
            })[0]
        };
        let one: Key<'_> = (b"pass", b"salt", 4096);
        let others: [Key<'_>; 4] = [
            (b"pas", b"salt", 4096),
            (b"pass", b"sal", 4096),
            (b"pass", b"salt", 4097),
            (b"passs", b"alt", 4096),
        ];
        assert_eq!([ask(one), ask(one), ask(one)], [1, 1, 1]);
        assert_eq!(others.map(&mut ask), [2, 3, 4, 5]);
        assert_eq!(ask(one), 1);
        for rounds in 0..MOST as u32 {
            ask((b"", b"", rounds));
        }
        assert_eq!(ask(one), 6 + MOST as u8, "the oldest is forgotten");
    }

    #[test]
    fn what_is_remembered_is_what_is_computed() {
        for _ in 0..2 {
            assert_eq!(password(b"pencil", b"some salt", 5), computed(b"pencil", b"some salt", 5));
            assert_ne!(password(b"pencil", b"some salt", 6), password(b"pencil", b"some salt", 5));
        }
    }
}
