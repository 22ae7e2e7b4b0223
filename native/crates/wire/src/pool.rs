//! Values that are the same, kept once: what thousands of sessions know of the same statements.

use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::Hash;
use std::rc::Rc;

/// As many different values are kept. Beyond that the ones that nobody uses go, and new ones are
/// shared with nobody.
const MOST: usize = 4096;

/// The values of a thread.
pub struct Pool<T>(RefCell<HashSet<Rc<T>>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T: Eq + Hash> Pool<T> {
    /// A value, the one that others have if there is one.
    pub fn share(&self, value: T) -> Rc<T> {
        let mut known = self.0.borrow_mut();
        if let Some(found) = known.get(&value) {
            return Rc::clone(found);
        }
        if known.len() >= MOST {
            known.retain(|value| Rc::strong_count(value) > 1);
        }
        let shared = Rc::new(value);
        if known.len() < MOST {
            known.insert(Rc::clone(&shared));
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_and_unused_ones_make_room() {
        let pool = Pool::default();
        let first = pool.share(vec![1]);
        assert!(Rc::ptr_eq(&first, &pool.share(vec![1])));
        assert!(!Rc::ptr_eq(&first, &pool.share(vec![2])));
        (0..2 * MOST).for_each(|value| drop(pool.share(vec![value, 0])));
        assert!(pool.0.borrow().len() <= MOST);
        assert!(Rc::ptr_eq(&first, &pool.share(vec![1])), "one in use stays");
        let used: Vec<_> = (0..2 * MOST).map(|value| pool.share(vec![value])).collect();
        assert_eq!((pool.0.borrow().len(), used.len()), (MOST, 2 * MOST));
    }
}
