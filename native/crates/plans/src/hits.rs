//! A table shaped like a web analytics log, from a seed; synthetic, and to be labelled so.
//!
//! | column | type | values |
//! |---|---|---|
//! | `width` | i16 | screen widths: a few common ones, 3 % unknown (0), the rest spread |
//! | `engine` | i16 | an advertising engine: 0 but for 0.63 %, then small and skewed |
//! | `region` | i32 | about 9,000 regions, skewed: the first has 18 % of the rows |
//! | `user` | i64 | 64 random bits, so half are negative; sessions are runs of 1 to 16 rows |
//!
//! The shares are rough guesses around two published facts of the public set: 0.63 % of its rows
//! have an advertising engine, and the mean width is near 1,500. Region and width belong to the
//! user, as they do in life: rows of one session agree in them.

use assay_random::Random;

use crate::data::{Column, Table};
use crate::query::Query;

/// The column that `ninety_sums` adds up.
pub const COLUMN_OF_SUMS: &str = "width";

/// Separates these draws from all others of a seed.
const PURPOSE: u64 = 0x4849_5453;
const REGIONS: f64 = 9_000.0;
/// Widths and their share of users, in percent; what is left is spread.
const WIDTHS: [(i16, u64); 8] =
    [(1366, 26), (1920, 17), (1280, 14), (1024, 10), (1680, 8), (1600, 8), (1440, 6), (0, 3)];

/// SUM(width + k) for k = 0..89: the shape that a row interpreter likes least.
pub fn ninety_sums() -> Query {
    Query::sums(COLUMN_OF_SUMS, 90)
}

/// The table of a seed. The same seed gives the same rows, and fewer rows a prefix.
pub fn hits_like(seed: u64, rows: usize) -> Table {
    let mut random = Random::new(seed, PURPOSE);
    let (mut widths, mut engines) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (mut regions, mut users) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    while users.len() < rows {
        let (user, width, region) = (random.bits() as i64, width(&mut random), region(&mut random));
        let session = 1 + random.below(16) as usize;
        for _ in 0..session.min(rows - users.len()) {
            users.push(user);
            widths.push(width);
            regions.push(region);
            engines.push(engine(&mut random));
        }
    }
    let named = [
        ("width", Column::I16(widths)),
        ("engine", Column::I16(engines)),
        ("region", Column::I32(regions)),
        ("user", Column::I64(users)),
    ];
    Table::new(named.map(|(name, column)| (name.to_owned(), column)).into())
        .expect("the names differ and every loop pushed to every column")
}

fn width(random: &mut Random) -> i16 {
    let mut draw = random.below(100);
    for (width, share) in WIDTHS {
        if draw < share {
            return width;
        }
        draw -= share;
    }
    1_200 + random.below(2_600) as i16
}

/// Log-uniform ranks, which is close to Zipf with exponent 1; the power makes the head heavier.
fn region(random: &mut Random) -> i32 {
    REGIONS.powf(random.unit().powf(1.5)) as i32
}

fn engine(random: &mut Random) -> i16 {
    if random.below(10_000) >= 63 { 0 } else { 2 + 60_f64.powf(random.unit().powi(3)) as i16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_rows_and_fewer_rows_are_a_prefix() {
        let (long, short) = (hits_like(9, 1_000), hits_like(9, 777));
        assert_eq!(long, hits_like(9, 1_000));
        assert_ne!(long, hits_like(10, 1_000));
        for (long, short) in long.columns().iter().zip(short.columns()) {
            assert!((0..777).all(|row| long.value(row) == short.value(row)));
        }
    }

    #[test]
    fn the_shares_are_those_documented() {
        let rows = 400_000;
        let table = hits_like(1, rows);
        let share = |place: usize, holds: fn(i64) -> bool| {
            let column = &table.columns()[place];
            (0..rows).filter(|&row| holds(column.value(row))).count() as f64 / rows as f64
        };
        let total: i64 = (0..rows).map(|row| table.columns()[0].value(row)).sum();
        let mean = total as f64 / rows as f64;
        assert!((1_450.0..1_570.0).contains(&mean), "mean width {mean}");
        assert!((0.055..0.07).contains(&(10.0 * share(1, |engine| engine != 0))));
        assert!((0.16..0.20).contains(&share(2, |region| region == 1)));
        assert!((0.48..0.52).contains(&share(3, |user| user < 0)));
    }
}
