//! Queries as their author writes them: trees over named columns.

/// An operator of two numbers. All wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Left plus right.
    Add,
    /// Left minus right.
    Subtract,
    /// Left times right.
    Multiply,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Operator; 3] = [Operator::Add, Operator::Subtract, Operator::Multiply];

    /// The operator's meaning.
    #[inline(always)]
    pub fn apply(self, left: i64, right: i64) -> i64 {
        match self {
            Operator::Add => left.wrapping_add(right),
            Operator::Subtract => left.wrapping_sub(right),
            Operator::Multiply => left.wrapping_mul(right),
        }
    }
}

/// A number per row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// The column of this name, widened to 64 bits with its sign.
    Column(String),
    /// The same number in every row.
    Constant(i64),
    /// Two expressions combined.
    Binary(Operator, Box<Expression>, Box<Expression>),
}

impl Expression {
    /// A column.
    pub fn column(name: &str) -> Self {
        Self::Column(name.to_owned())
    }

    /// Two expressions combined.
    pub fn binary(operator: Operator, left: Self, right: Self) -> Self {
        Self::Binary(operator, Box::new(left), Box::new(right))
    }

    /// This plus another.
    pub fn plus(self, other: Self) -> Self {
        Self::binary(Operator::Add, self, other)
    }

    /// This minus another.
    pub fn minus(self, other: Self) -> Self {
        Self::binary(Operator::Subtract, self, other)
    }

    /// This times another.
    pub fn times(self, other: Self) -> Self {
        Self::binary(Operator::Multiply, self, other)
    }
}

/// What is made of the numbers of all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The sum, which wraps; 0 of no rows.
    Sum,
    /// The number of rows, whatever the argument.
    Count,
    /// The least; `i64::MAX` of no rows, for there are no nulls.
    Min,
    /// The greatest; `i64::MIN` of no rows.
    Max,
}

impl Function {
    /// Every function.
    pub const ALL: [Function; 4] = [Function::Sum, Function::Count, Function::Min, Function::Max];

    /// The result of no rows, which is also where every plan begins.
    pub fn of_nothing(self) -> i64 {
        match self {
            Function::Sum | Function::Count => 0,
            Function::Min => i64::MAX,
            Function::Max => i64::MIN,
        }
    }

    /// The result so far and one more row's number, combined.
    #[inline(always)]
    pub fn step(self, so_far: i64, value: i64) -> i64 {
        match self {
            Function::Sum => so_far.wrapping_add(value),
            Function::Count => so_far.wrapping_add(1),
            Function::Min => so_far.min(value),
            Function::Max => so_far.max(value),
        }
    }
}

/// One column of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// The function.
    pub function: Function,
    /// What it is applied to.
    pub argument: Expression,
}

/// How two numbers are compared, with their signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// =
    Equal,
    /// <>
    NotEqual,
    /// <
    Less,
    /// <=
    LessOrEqual,
    /// >
    Greater,
    /// >=
    GreaterOrEqual,
}

impl Comparison {
    /// Every comparison.
    pub const ALL: [Comparison; 6] = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];

    /// Whether it holds.
    #[inline(always)]
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
        }
    }
}

/// The rows that count: those where the comparison holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The comparison.
    pub comparison: Comparison,
    /// Its left side.
    pub left: Expression,
    /// Its right side.
    pub right: Expression,
}

/// A whole query: one row of answers over one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The answers, in order.
    pub aggregates: Vec<Aggregate>,
    /// Which rows count; all of them without.
    pub filter: Option<Filter>,
}

impl Query {
    /// SUM(column + k) for each `k` below `count`.
    pub fn sums(column: &str, count: usize) -> Self {
        let sum = |k: usize| Aggregate {
            function: Function::Sum,
            argument: Expression::column(column).plus(Expression::Constant(k as i64)),
        };
        Self { aggregates: (0..count).map(sum).collect(), filter: None }
    }
}
