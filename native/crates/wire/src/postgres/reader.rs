//! Taking a message's body apart.

use super::wrong;
use crate::WireError;

/// What is left of a body. Nothing is read past its end.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'m> {
    rest: &'m [u8],
    /// Of which message, for errors.
    message: &'static str,
}

impl<'m> Reader<'m> {
    #[inline]
    pub fn new(body: &'m [u8], message: &'static str) -> Self {
        Self { rest: body, message }
    }

    #[cold]
    fn short(&self) -> WireError {
        wrong(format!("a {} message ends too early", self.message))
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let Some((first, rest)) = self.rest.split_first_chunk() else { return Err(self.short()) };
        self.rest = rest;
        Ok(*first)
    }

    pub fn u8(&mut self) -> Result<u8, WireError> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub fn i32(&mut self) -> Result<i32, WireError> {
        self.array().map(i32::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'m [u8], WireError> {
        let Some((first, rest)) = self.rest.split_at_checked(count) else {
            return Err(self.short());
        };
        self.rest = rest;
        Ok(first)
    }

    /// The bytes up to the next zero byte, which is taken too.
    pub fn text(&mut self) -> Result<&'m [u8], WireError> {
        let Some(end) = self.rest.iter().position(|&byte| byte == 0) else {
            return Err(self.short());
        };
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    pub fn rest(&self) -> &'m [u8] {
        self.rest
    }

    /// Says that the body should be used up.
    #[inline]
    pub fn end(self) -> Result<(), WireError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(wrong(format!("a {} message is {} bytes too long", self.message, self.rest.len())))
    }
}
