//! What clients see is strictly serialisable, by a checker that shares nothing with this crate.

use adya::Valid;
use assay_index::IndexKind;
use assay_transactions::ConcurrencyControl;

use crate::lists::{Load, WORDS, load_lists, verdict};

fn strictly_serialisable<C: ConcurrencyControl>(index: IndexKind, load: Load) {
    let database = crate::support::database::<C>(&crate::support::schemas(1, WORDS), index);
    load_lists(&database, load);
    let report = verdict(&database, load, 5);
    let name = format!("{} over {}", C::KIND.name(), index.name());
    assert_eq!(report.valid, Valid::True, "{name}: {:?}", report.anomaly_types);
}

#[test]
fn appends_and_reads_of_lists_are_strictly_serialisable() {
    for index in IndexKind::ALL {
        let calm = Load { threads: 2, transactions: 1000, yields: false };
        every_kind!(strictly_serialisable(index, calm));
        let crowded = Load { threads: 3, transactions: 300, yields: true };
        every_kind!(strictly_serialisable(index, crowded));
    }
}
