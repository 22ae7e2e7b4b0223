//! Sorted, disjoint ranges of addresses.

/// Addresses from `start` to `end`, the end excluded; sorted, and no two touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Joins whatever overlaps or touches; empty and reversed ranges are dropped.
    pub fn of(mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.sort_unstable();
        Self::of_sorted(ranges)
    }

    /// As `of`, of ranges in the order of their starts.
    pub fn of_sorted(ranges: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (start, end) in ranges.into_iter().filter(|(start, end)| start < end) {
            match joined.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        Self(joined)
    }

    /// Whether the address lies in one of them.
    pub fn contains(&self, address: u64) -> bool {
        let after = self.0.partition_point(|(start, _)| *start <= address);
        after > 0 && self.0[after - 1].1 > address
    }

    /// How many bytes of `start..end` they hold.
    pub fn within(&self, start: u64, end: u64) -> u64 {
        let first = self.0.partition_point(|range| range.1 <= start);
        self.0[first..]
            .iter()
            .take_while(|range| range.0 < end)
            .map(|range| range.1.min(end) - range.0.max(start))
            .sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges themselves.
    #[cfg(test)]
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_overlap_or_touch_are_joined() {
        let ranges = Ranges::of(vec![(8, 12), (0, 4), (4, 6), (10, 20), (30, 30), (50, 40)]);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(0, 6), (8, 20)]);
    }

    #[test]
    fn an_address_is_in_a_range_up_to_its_end() {
        let ranges = Ranges::of(vec![(4, 8), (12, 16)]);
        let inside: Vec<u64> = (0..20).filter(|address| ranges.contains(*address)).collect();
        assert_eq!(inside, [4, 5, 6, 7, 12, 13, 14, 15]);
        for (start, end) in [(0, 20), (5, 13), (8, 12), (6, 7), (16, 20)] {
            let slow = (start..end).filter(|address| ranges.contains(*address)).count() as u64;
            assert_eq!(ranges.within(start, end), slow, "{start}..{end}");
        }
    }
}
