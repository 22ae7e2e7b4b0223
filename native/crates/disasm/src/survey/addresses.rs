//! A map from addresses that is asked about every call of a program: nearly always the answer is no,
//! because all of them are close together.

/// Values by their address.
#[derive(Clone, Debug)]
pub struct Addresses<V>(Vec<(u64, V)>);

impl<V> Default for Addresses<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> Addresses<V> {
    /// Of entries in any order; of those for one address the last holds.
    pub fn of(mut entries: Vec<(u64, V)>) -> Self {
        entries.reverse();
        entries.sort_by_key(|entry| entry.0);
        entries.dedup_by_key(|entry| entry.0);
        Self(entries)
    }

    /// What is at an address.
    #[inline]
    pub fn get(&self, address: u64) -> Option<&V> {
        let (first, last) = (self.0.first()?, self.0.last()?);
        if address < first.0 || address > last.0 {
            return None;
        }
        let place = self.0.binary_search_by_key(&address, |entry| entry.0).ok()?;
        Some(&self.0[place].1)
    }

    /// All of them, in the order of their addresses.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &V)> {
        self.0.iter().map(|(address, value)| (*address, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_for_an_address_holds() {
        let map = Addresses::of(vec![(8, "b"), (4, "a"), (8, "c"), (16, "d")]);
        assert_eq!(
            [0, 4, 6, 8, 16, 20].map(|address| map.get(address).copied()),
            [None, Some("a"), None, Some("c"), Some("d"), None]
        );
        assert_eq!(map.iter().count(), 3);
        assert_eq!(Addresses::<u8>::default().get(0), None);
    }
}
