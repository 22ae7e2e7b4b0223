//! The request of `store`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_stores::Kind;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{
    Schedule, Ycsb, default_interval_ms, default_pin, default_seed, default_threads,
    default_warmup_ms, default_window_ms, store_kind,
};

with_schedule! {
    /// The request of `store`.
    pub struct StoreRequest {
        #[serde(deserialize_with = "store_kind")]
        pub store: Kind,
        /// The shared library: a path, or a name that the loader finds.
        pub library: PathBuf,
        /// The folder of the data.
        #[serde(default)]
        pub path: Option<PathBuf>,
        #[serde(default)]
        pub action: StoreAction,
        /// The library's settings and Assay's: texts, switches or numbers.
        #[serde(default, deserialize_with = "texts")]
        pub settings: BTreeMap<String, String>,
        #[serde(default)]
        pub workload: StoreWorkload,
    }
}

/// What is to be done.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum StoreAction {
    /// Say which settings there are.
    Options,
    /// Fill the folder.
    Prepare,
    /// Measure.
    #[default]
    Run,
}

/// `workload` of `store`: kind `ycsb`.
#[derive(Clone, Debug, Default)]
pub struct StoreWorkload(pub Ycsb);

impl<'de> Deserialize<'de> for StoreWorkload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut fields = Map::deserialize(deserializer)?;
        match fields.remove("kind") {
            None => {}
            Some(kind) if kind == "ycsb" => {}
            Some(kind) => return Err(D::Error::custom(format!("{kind} is not one of: ycsb"))),
        }
        serde_json::from_value(Value::Object(fields)).map(Self).map_err(D::Error::custom)
    }
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let fields = BTreeMap::<String, Value>::deserialize(deserializer)?;
    let text = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Bool(_) | Value::Number(_) => Ok((name, value.to_string())),
        _ => Err(serde::de::Error::custom(format!(
            "settings.{name} is {value}: must be a text, a number, true or false"
        ))),
    };
    fields.into_iter().map(text).collect()
}
