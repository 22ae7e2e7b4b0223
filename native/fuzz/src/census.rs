//! What must hold of the survey and of the description of a file, whatever its bytes: they end, never
//! panic and list no more than there can be, and the counts are the same with and without sites.
//!
//! Apart from the codecs' checks: the test `odd` of `assay-disasm` includes this file alone.

use assay_disasm::description::{Asked, Described, Listed, describe_bytes};
use assay_disasm::survey::report::{Found, Image, MOST_SITES};
use assay_disasm::survey::survey_bytes;

/// More kinds of sites do not exist.
const KINDS: usize = 16;

/// The input is a file: an ELF image, a static library, or anything else.
///
/// # Panics
/// When something does not hold.
pub fn check(input: &[u8]) {
    is_described(input);
    let (with, without) = (found(input, true), found(input, false));
    assert_eq!(with.len(), without.len());
    for pair in with.iter().zip(&without) {
        match pair {
            (Found::Image(one), Found::Image(other)) => {
                assert_eq!((&one.counts, &one.unverified), (&other.counts, &other.unverified));
                assert!(other.sites.is_empty());
                is_possible(one, input.len());
            }
            (Found::Refused(one), Found::Refused(other)) => {
                assert_eq!(one.why, other.why);
                assert!(!one.why.is_empty());
            }
            different => panic!("only one of them is refused: {different:?}"),
        }
    }
}

fn found(input: &[u8], with_sites: bool) -> Vec<Found> {
    let mut all = Vec::new();
    let Ok(()) =
        survey_bytes::<std::convert::Infallible>("input", input, with_sites, &mut |found| {
            all.push(found);
            Ok(())
        });
    all
}

/// Names that stand in many files, so that there is something to find.
fn is_described(input: &[u8]) {
    let asked = Asked {
        symbols: vec!["main".to_owned(), "f".to_owned()],
        functions: Some(Listed::All),
        references: vec![("f".to_owned(), "counter".to_owned())],
        contents: true,
    };
    let Ok(()) = describe_bytes::<std::convert::Infallible>("input", input, &asked, &mut |it| {
        if let Described::Object(object) = it {
            let names = object.functions.unwrap_or_default();
            assert!(names.iter().map(String::len).sum::<usize>() <= 4 * input.len());
            assert!(object.references.len() <= 100 * input.len());
        }
        Ok(())
    });
}

fn is_possible(image: &Image, bytes: usize) {
    assert!(image.coverage.text_bytes <= bytes as u64);
    assert!((0.0..=1.0).contains(&image.coverage.covered), "{}", image.coverage.covered);
    assert!(image.helpers.len() <= bytes / 32, "a helper has eight words at least");
    assert!(image.sites.len() <= KINDS * MOST_SITES);
    assert!(image.sites.iter().all(|site| site.listing.len() <= 24));
    assert!(image.counts.values().all(|count| *count <= bytes as u64));
}
