//! SUM(e + k) as SUM(e) + k * COUNT: algebra before any plan is made.
//!
//! Exact for wrapping numbers, because they are a ring: sums may be reordered and constants taken
//! out whatever overflows. Ninety sums of one column plus a constant become one sum and one count.
//! Constants are taken out of the top of an argument only, through + and -; COUNT, MIN and MAX stay
//! as they are.

use assay_primitives::named;

use crate::query::{Function, Operator};
use crate::resolve::{Node, Resolved};

named! {
    /// Whether sums are factored before the plan is made.
    pub enum Rewrite {
        /// Every expression is evaluated as written.
        Off "off",
        /// Constants are taken out of sums, and equal sums are computed once.
        On "on",
    }
}

/// How one answer follows from what the plan computed: the sum of factor * result.
pub(crate) struct Output {
    terms: Vec<(usize, i64)>,
}

impl Output {
    pub fn of(&self, results: &[i64]) -> i64 {
        self.terms.iter().fold(0, |sum: i64, &(place, factor)| {
            sum.wrapping_add(results[place].wrapping_mul(factor))
        })
    }
}

/// The query that the plan really computes, and how to get the answers from it.
pub(crate) fn apply(rewrite: Rewrite, asked: Resolved) -> (Resolved, Option<Vec<Output>>) {
    if rewrite == Rewrite::Off {
        return (asked, None);
    }
    let mut computed = Resolved { aggregates: Vec::new(), filter: asked.filter };
    let mut outputs = Vec::with_capacity(asked.aggregates.len());
    for (function, argument) in asked.aggregates {
        let mut terms = Vec::new();
        if function == Function::Sum {
            let (core, sign, constant) = take_out(argument);
            terms.extend(core.map(|core| (computed.place_of(Function::Sum, core), sign)));
            if constant != 0 || terms.is_empty() {
                terms.push((computed.place_of(Function::Count, Node::Constant(0)), constant));
            }
        } else {
            terms.push((computed.place_of(function, argument), 1));
        }
        outputs.push(Output { terms });
    }
    (computed, Some(outputs))
}

impl Resolved {
    /// The place of this aggregate, which is added if nobody asked for it yet.
    fn place_of(&mut self, function: Function, argument: Node) -> usize {
        let wanted = (function, argument);
        self.aggregates.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            self.aggregates.push(wanted);
            self.aggregates.len() - 1
        })
    }
}

/// The argument as sign * core + constant; no core if it is constant.
fn take_out(mut node: Node) -> (Option<Node>, i64, i64) {
    let (mut sign, mut constant) = (1_i64, 0_i64);
    while let Node::Binary(operator, left, right) = node {
        node = match (operator, *left, *right) {
            (Operator::Add, rest, Node::Constant(k)) | (Operator::Add, Node::Constant(k), rest) => {
                constant = constant.wrapping_add(sign.wrapping_mul(k));
                rest
            }
            (Operator::Subtract, rest, Node::Constant(k)) => {
                constant = constant.wrapping_sub(sign.wrapping_mul(k));
                rest
            }
            (Operator::Subtract, Node::Constant(k), rest) => {
                constant = constant.wrapping_add(sign.wrapping_mul(k));
                sign = -sign;
                rest
            }
            (operator, left, right) => {
                node = Node::Binary(operator, Box::new(left), Box::new(right));
                break;
            }
        };
    }
    match node {
        Node::Constant(k) => (None, sign, constant.wrapping_add(sign.wrapping_mul(k))),
        core => (Some(core), sign, constant),
    }
}
