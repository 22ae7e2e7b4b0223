//! The rivals, one file each.

pub mod congee;
pub mod dashmap;
pub mod fjall;
pub mod lmdb;
pub mod locked_btree;
pub mod papaya;
pub mod redb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
pub mod scc_hash_map;
pub mod scc_tree_index;
pub mod skip_map;
pub mod sled;
pub mod sqlite;
