//! Things by small numbers, which are used again.

/// A vector with holes.
pub struct Slab<T> {
    items: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slab<T> {
    pub const fn new() -> Self {
        Self { items: Vec::new(), free: Vec::new() }
    }

    /// Adds an item; its number.
    pub fn insert(&mut self, item: T) -> usize {
        if let Some(place) = self.free.pop() {
            self.items[place] = Some(item);
            return place;
        }
        self.items.push(Some(item));
        self.items.len() - 1
    }

    /// The item of a number, if there is one now.
    #[inline]
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.items.get_mut(place)?.as_mut()
    }

    /// Takes an item out and frees its number.
    pub fn remove(&mut self, place: usize) -> Option<T> {
        let item = self.items.get_mut(place)?.take()?;
        self.free.push(place);
        Some(item)
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}
