//! Users, and what belongs to each: rows of one user agree in it.

use super::draws::{Draws, Purpose};
use super::plan::Plan;
use super::shares::{ADDRESSES, ALL, REGIONS, USERS};

/// The user that a query looks for; some sessions of every table are theirs.
pub const PLANTED_USER: i64 = 7_305_218_846_120_455;

/// Ordinary users to draw from, in thousandths of the rows: sessions, a quarter of the rows, meet
/// 17.6 % then.
const USERS_PER_MILLE: u64 = 335;
/// Addresses to draw from.
const ADDRESSES_PER_MILLE: u64 = 250;
/// Regions that are not published: ranks 40 to 5,119, falling.
const REST_OF_REGIONS: (u64, u64) = (3, 9);
const REST_OF_REGIONS_FIRST: i32 = 300;

/// A kind of device: users of 10,000 that have it, maker and model of a phone, screen.
struct Device {
    share: u64,
    maker: i16,
    model: &'static str,
    width: i16,
    height: i16,
}

const fn desktop(share: u64, width: i16, height: i16) -> Device {
    Device { share, maker: 0, model: "", width, height }
}

const fn phone(share: u64, maker: i16, model: &'static str, width: i16, height: i16) -> Device {
    Device { share, maker, model, width, height }
}

/// Shares of the first three phones are published. The mean width is that of the published sum; what
/// the list leaves are screens of all widths between two bounds.
const DEVICES: [Device; 15] = [
    phone(618, 1, "ipad", 1024, 768),
    phone(26, 1, "iphone", 320, 480),
    phone(9, 2, "a500", 1280, 800),
    phone(20, 3, "gt-p5100", 480, 800),
    phone(17, 3, "gt-i9300", 480, 800),
    phone(10, 4, "nexus 7", 480, 800),
    desktop(382, 1024, 768),
    desktop(2_600, 1366, 768),
    desktop(1_700, 1920, 1080),
    desktop(900, 1280, 1024),
    desktop(500, 1280, 800),
    desktop(800, 1680, 1050),
    desktop(800, 1600, 900),
    desktop(600, 1440, 900),
    desktop(300, 0, 0),
];
const OTHER_WIDTHS: (i16, u64) = (1_700, 2_096);

/// What belongs to a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// Their number to the log.
    pub id: i64,
    /// Where they are.
    pub region: i32,
    /// Their address.
    pub address: i32,
    /// Browser.
    pub agent: i16,
    /// Operating system.
    pub os: i16,
    /// Screen, in pixels; 0 where unknown.
    pub width: i16,
    /// Screen, in pixels; 0 where unknown.
    pub height: i16,
    /// Maker of the phone; 0 where there is none.
    pub maker: i16,
    /// Model of the phone; empty where there is none.
    pub model: &'static str,
}

impl Plan {
    /// The user of a session.
    pub(super) fn user(&self, session: u64) -> User {
        let parameters = self.parameters();
        let mut draws = Draws::new(parameters.seed, Purpose::User, session);
        if self.is_planted(session) {
            return self.user_of(0, PLANTED_USER);
        }
        let frequent = draws.share(USERS, ALL);
        let number = match frequent {
            Some(rank) => 1 + rank as u64,
            None => 1 + USERS.len() as u64 + draws.below(parameters.rows * USERS_PER_MILLE / 1000),
        };
        let id = Draws::new(parameters.seed, Purpose::UserId, number).bits() >> 2;
        self.user_of(number, id as i64)
    }

    fn user_of(&self, number: u64, id: i64) -> User {
        let parameters = self.parameters();
        let mut draws = Draws::new(parameters.seed, Purpose::User, u64::MAX - number);
        let region = match draws.share(REGIONS.map(|(_, share)| share), ALL) {
            Some(place) => REGIONS[place].0,
            None => {
                let (first, last) = REST_OF_REGIONS;
                REST_OF_REGIONS_FIRST + (draws.rank(first, last) * 5 - 40) as i32
            }
        };
        let address = match draws.share(ADDRESSES, ALL) {
            Some(rank) => rank as u64,
            None => {
                let others = parameters.rows * ADDRESSES_PER_MILLE / 1000;
                ADDRESSES.len() as u64 + draws.below(others)
            }
        };
        let device = draws.share(DEVICES.iter().map(|device| device.share), 10_000);
        let (width, height, maker, model) = match device {
            Some(place) => {
                let Device { width, height, maker, model, .. } = DEVICES[place];
                (width, height, maker, model)
            }
            None => {
                let (least, widths) = OTHER_WIDTHS;
                let width = least + draws.below(widths) as i16;
                (width, width / 8 * 5, 0, "")
            }
        };
        let agent = draws.rank(0, 5) as i16;
        let os = if maker > 0 { 40 + maker } else { draws.rank(1, 4) as i16 };
        let address = address_of(parameters.seed, address);
        User { id, region, address, agent, os, width, height, maker, model }
    }
}

/// An address that stays one when a little is taken from it.
fn address_of(seed: u64, number: u64) -> i32 {
    let bits = Draws::new(seed, Purpose::Address, number).bits() >> 34;
    bits as i32 - (1 << 29)
}
