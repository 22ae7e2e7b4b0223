//! Errors of a server, by code.

use assay_wire::{ServerErrorKind, WireError};

/// So many codes are told apart; a server that makes them up cannot fill the memory.
const CODES_MAX: usize = 256;
/// The longest message that is kept, in characters.
const MESSAGE_MAX: usize = 300;

/// What a server said when it refused a request for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it is to a workload.
    pub kind: ServerErrorKind,
    /// Its code: SQLSTATE of PostgreSQL, number of MySQL, first word of RESP, status of HTTP.
    pub code: String,
    /// Its words.
    pub message: String,
}

impl Refusal {
    /// From a server's error, after which its session goes on.
    ///
    /// # Errors
    /// Any other error, as it was.
    pub fn of(error: WireError) -> Result<Self, WireError> {
        match error {
            WireError::Server { code, message, kind } => {
                let message = message.chars().take(MESSAGE_MAX).collect();
                Ok(Self { kind, code, message })
            }
            error => Err(error),
        }
    }

    /// Of a client that does not say why.
    pub(crate) fn without_words() -> Self {
        Self { kind: ServerErrorKind::Other, code: String::new(), message: String::new() }
    }

    fn of_another_code() -> Self {
        let message = format!("counted together: over {CODES_MAX} codes");
        Self { code: "others".to_owned(), message, ..Self::without_words() }
    }
}

/// The codes that were met, each with its first message, in the order in which they were met.
#[derive(Debug, Default)]
pub struct Refusals(Vec<Refusal>);

impl Refusals {
    /// The place of a refusal's code in the list; its message is kept if it is the first.
    pub fn place(&mut self, refusal: Refusal) -> usize {
        if let Some(place) = self.0.iter().position(|known| known.code == refusal.code) {
            return place;
        }
        match self.0.len() {
            full if full > CODES_MAX => return CODES_MAX,
            CODES_MAX => self.0.push(Refusal::of_another_code()),
            _ => self.0.push(refusal),
        }
        self.0.len() - 1
    }

    /// The list.
    pub fn get(&self) -> &[Refusal] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: &str, message: &str) -> Refusal {
        let (code, message) = (code.to_owned(), message.to_owned());
        Refusal { kind: ServerErrorKind::Other, code, message }
    }

    #[test]
    fn a_code_keeps_its_place_and_its_first_message() {
        let mut refusals = Refusals::default();
        let places = [("404", "a"), ("503", "b"), ("404", "c")]
            .map(|(code, message)| refusals.place(refusal(code, message)));
        assert_eq!(places, [0, 1, 0]);
        assert_eq!(refusals.get(), [refusal("404", "a"), refusal("503", "b")]);
    }

    #[test]
    fn a_server_that_makes_codes_up_does_not_fill_the_memory() {
        let mut refusals = Refusals::default();
        for number in 0..3 * CODES_MAX {
            let place = refusals.place(refusal(&format!("E{number}"), "x"));
            assert_eq!(place, number.min(CODES_MAX));
        }
        assert_eq!(refusals.get().len(), CODES_MAX + 1);
        assert!(refusals.get()[CODES_MAX].message.contains("counted together"));
        assert_eq!(refusals.place(refusal("E7", "x")), 7);
    }

    #[test]
    fn only_a_servers_error_is_a_refusal_and_a_long_message_is_cut() {
        let protocol = WireError::Protocol { protocol: "RESP", what: String::new() };
        assert!(matches!(Refusal::of(protocol), Err(WireError::Protocol { .. })));
        let (code, message) = ("1062".to_owned(), "é".repeat(1000));
        let kind = ServerErrorKind::DuplicateKey;
        let long = Refusal::of(WireError::Server { code, message, kind }).unwrap();
        assert_eq!((long.kind, long.message.chars().count()), (kind, MESSAGE_MAX));
    }
}
