//! Which aggregates may be added up in 32-bit lanes, four rows to a register instead of two.
//!
//! The meaning stays that of 64 bits: from the widths of the columns follow bounds of every value,
//! and only where no intermediate value leaves 32 bits, and no lane's sum over a whole tile does, is
//! the narrow form used. Sums and counts only: a least value of no rows does not fit 32 bits.

use super::TILE;
use crate::data::ColumnType;
use crate::query::{Function, Operator};
use crate::resolve::{Node, Resolved};

/// Lanes of 32 bits in a vector.
const LANES: usize = 4;
/// The largest magnitude that a tile's rows may have so that their sum fits a lane.
const SUMMED_MAX: i64 = i32::MAX as i64 / (TILE / LANES) as i64;

/// Whether these aggregates, and the filter before them, can be computed in 32-bit lanes.
pub(super) fn fits(group: &[(Function, Node)], resolved: &Resolved, types: &[ColumnType]) -> bool {
    let filter = resolved.filter.iter().flat_map(|(_, left, right)| [left, right]);
    filter.into_iter().all(|node| bounds(node, types).is_some())
        && group.iter().all(|(function, node)| match function {
            Function::Count => true,
            Function::Sum => bounds(node, types)
                .is_some_and(|(low, high)| low >= -SUMMED_MAX && high <= SUMMED_MAX),
            Function::Min | Function::Max => false,
        })
}

/// The least and greatest value of a node; `None` if it or one inside it may leave 32 bits.
fn bounds(node: &Node, types: &[ColumnType]) -> Option<(i64, i64)> {
    let (low, high) = match node {
        Node::Constant(value) => (*value, *value),
        Node::Column(place) => match types[*place] {
            ColumnType::I16 => (i16::MIN.into(), i16::MAX.into()),
            ColumnType::I32 => (i32::MIN.into(), i32::MAX.into()),
            ColumnType::I64 => return None,
        },
        Node::Binary(operator, left, right) => {
            let (left, right) = (bounds(left, types)?, bounds(right, types)?);
            // Of bilinear functions the extremes are at the corners; two factors of 32 bits make
            // no more than 63.
            let corners =
                [(left.0, right.0), (left.0, right.1), (left.1, right.0), (left.1, right.1)];
            let values = corners.map(|(left, right)| match operator {
                Operator::Add => left + right,
                Operator::Subtract => left - right,
                Operator::Multiply => left * right,
            });
            let extreme = |choose: fn(i64, i64) -> i64| values.into_iter().reduce(choose);
            extreme(i64::min).zip(extreme(i64::max))?
        }
    };
    let is_narrow = low >= i32::MIN.into() && high <= i32::MAX.into();
    is_narrow.then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [ColumnType; 3] = ColumnType::ALL;

    fn plus(place: usize, constant: i64) -> Node {
        let (column, constant) = (Node::Column(place), Node::Constant(constant));
        Node::Binary(Operator::Add, Box::new(column), Box::new(constant))
    }

    fn fits_alone(function: Function, node: Node) -> bool {
        let resolved = Resolved { aggregates: vec![(function, node)], filter: None };
        fits(&resolved.aggregates, &resolved, &TYPES)
    }

    #[test]
    fn sums_fit_as_long_as_a_tile_of_the_extreme_fits_a_lane() {
        let spare = SUMMED_MAX - i64::from(i16::MAX);
        assert!(fits_alone(Function::Sum, plus(0, spare)));
        assert!(!fits_alone(Function::Sum, plus(0, spare + 1)));
        assert!(!fits_alone(Function::Sum, plus(1, 0)), "a tile of 32-bit values");
        assert!(!fits_alone(Function::Sum, plus(2, 0)));
        assert!(!fits_alone(Function::Sum, Node::Constant(i64::MAX)));
    }

    #[test]
    fn an_intermediate_value_beyond_32_bits_does_not_fit_whatever_comes_of_it() {
        let far =
            Node::Binary(Operator::Multiply, plus(0, 0).into(), Node::Constant(1 << 17).into());
        let back = Node::Binary(Operator::Subtract, far.clone().into(), far.into());
        assert!(!fits_alone(Function::Sum, back));
        let product =
            Node::Binary(Operator::Multiply, plus(0, 0).into(), Node::Constant(-200).into());
        assert!(fits_alone(Function::Sum, product));
    }

    #[test]
    fn extremes_and_wide_filters_do_not_fit() {
        assert!(!fits_alone(Function::Min, plus(0, 0)));
        assert!(fits_alone(Function::Count, plus(2, 0)), "a count reads nothing");
        use crate::query::Comparison::Less;
        for (wide, expected) in [(0, true), (1, true), (2, false)] {
            let filter = Some((Less, Node::Column(wide), Node::Constant(7)));
            let resolved = Resolved { aggregates: vec![(Function::Sum, plus(0, 1))], filter };
            assert_eq!(fits(&resolved.aggregates, &resolved, &TYPES), expected);
        }
    }
}
