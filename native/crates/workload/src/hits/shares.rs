//! Published shares of a public set of page views: rows of 100 million.
//!
//! Where only the first places and the tenth are published, those between are our own, in order.

/// What the shares are parts of.
pub const ALL: u64 = 100_000_000;

/// Advertising engines other than none.
pub const ADV_ENGINES: [(i16, u64); 13] = [
    (2, 404_620),
    (27, 113_167),
    (13, 45_633),
    (45, 38_974),
    (44, 9_731),
    (3, 6_896),
    (62, 5_266),
    (52, 3_554),
    (50, 938),
    (28, 836),
    (53, 350),
    (25, 343),
    (61, 158),
];

/// The ten regions with the most rows.
pub const REGIONS: [(i32, u64); 10] = [
    (229, 18_300_000),
    (2, 6_690_000),
    (208, 4_260_000),
    (169, 3_320_000),
    (32, 1_840_000),
    (34, 1_790_000),
    (184, 1_760_000),
    (42, 1_540_000),
    (107, 1_520_000),
    (51, 1_440_000),
];

/// The ten pages with the most rows.
pub const PAGES: [u64; 10] =
    [3_288_173, 1_625_251, 791_465, 582_404, 500_000, 440_000, 390_000, 350_000, 320_000, 289_355];

/// The ten search phrases with the most rows, beside none.
pub const PHRASES: [u64; 10] =
    [70_263, 34_675, 24_579, 21_000, 19_000, 17_000, 15_500, 14_200, 13_200, 12_317];

/// The ten users with the most rows.
pub const USERS: [u64; 10] =
    [29_097, 25_333, 10_611, 9_500, 8_500, 7_600, 6_800, 6_100, 5_500, 4_906];

/// The ten addresses with the most rows.
pub const ADDRESSES: [u64; 10] =
    [47_008, 29_121, 25_333, 21_000, 18_500, 16_000, 14_000, 12_500, 11_000, 9_718];

/// Distinct users: 17.6 % of the rows.
pub const DISTINCT_USERS: f64 = 0.176;
/// Distinct search phrases: 6.0 % of the rows.
pub const DISTINCT_PHRASES: f64 = 0.060;
/// The mean width of screens, in pixels.
pub const MEAN_WIDTH: f64 = 1513.489;
