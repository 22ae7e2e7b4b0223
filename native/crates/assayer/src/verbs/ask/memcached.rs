//! Commands of memcached as its protocol has them, and replies as rows.

use assay_runtime::Handle;
use assay_wire::memcached::Session;
use assay_wire::memcached::codec::{Batch, Item, Reply, is_key, is_word};
use assay_wire::{Target, WireError};

use super::{Rows, text};
use crate::failure::Failure;

/// Commands of one line that are answered once.
const PLAIN: &[&str] = &[
    "get",
    "gets",
    "delete",
    "incr",
    "decr",
    "touch",
    "flush_all",
    "stats",
    "version",
    "verbosity",
];
/// Commands with a value behind their line: key, flags, time, length; `cas` has one number more.
const STORING: &[&str] = &["set", "add", "replace", "append", "prepend", "cas"];

/// Each command, ready to be sent.
pub fn commands(asks: &[String]) -> Result<Vec<Batch>, Failure> {
    let encoded = |ask: &String| {
        command(ask).ok_or_else(|| {
            Failure::usage(format!(
                "asks: {ask:?} is not a command of memcached that is answered: give one of {}; or \
                 one of {} with its value on the next line, as long as the command says",
                PLAIN.join(", "),
                STORING.join(", ")
            ))
        })
    };
    asks.iter().map(encoded).collect()
}

fn command(ask: &str) -> Option<Batch> {
    let (line, data) = ask.split_once('\n').map_or((ask, None), |(line, data)| (line, Some(data)));
    let line = line.strip_suffix('\r').unwrap_or(line);
    let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
    let (name, arguments) = words.split_first()?;
    let is_one_of = |names: &[&str]| names.iter().any(|known| known.as_bytes() == *name);
    let is_answered = !words.contains(&&b"noreply"[..]) && words.iter().all(|word| is_word(word));
    let data = data.filter(|data| !data.is_empty());
    let mut batch = Batch::default();
    match data {
        None if is_answered && is_one_of(PLAIN) => batch.command(&words),
        Some(data) if is_answered && is_one_of(STORING) => {
            let (key, numbers) = arguments.split_first()?;
            let is_cas = *name == b"cas";
            let is_whole = numbers.iter().all(|word| word.iter().all(u8::is_ascii_digit))
                && numbers.len() == 3 + usize::from(is_cas);
            let length = str::from_utf8(numbers.get(2)?).ok()?.parse::<usize>().ok()?;
            let ends = ["", "\n", "\r\n"];
            let has_length =
                |end: &&str| data.strip_suffix(end).is_some_and(|data| data.len() == length);
            if !(is_whole && is_key(key) && ends.iter().any(has_length)) {
                return None;
            }
            batch.command(&words);
            batch.data(&data.as_bytes()[..length]);
        }
        _ => return None,
    }
    Some(batch)
}

/// Asks all, one after another.
pub async fn ask(
    handle: &Handle,
    target: &Target,
    commands: &[Batch],
) -> Result<Vec<Rows>, WireError> {
    let mut session = Session::open(handle, target).await?;
    let mut answers = Vec::new();
    for command in commands {
        let mut rows = Rows::new();
        let visit = |reply: &Reply<'_>| {
            rows = rows_of(*reply);
            Ok(())
        };
        session.run(command, visit).await?;
        answers.push(rows);
    }
    session.close().await;
    Ok(answers)
}

/// A value is key, flags, value, and its number if it was asked for; a counter name and value.
fn rows_of(reply: Reply<'_>) -> Rows {
    match reply {
        Reply::Items(items) => items.map(row).collect(),
        Reply::Done(it) | Reply::NotDone(it) | Reply::Version(it) | Reply::Error(it) => {
            vec![vec![Some(text(it))]]
        }
        Reply::Number(it) => vec![vec![Some(it.to_string())]],
    }
}

fn row(item: Item<'_>) -> Vec<Option<String>> {
    match item {
        Item::Stat { name, value } => vec![Some(text(name)), Some(text(value))],
        Item::Value { key, flags, data, unique } => {
            let own = [text(key), flags.to_string(), text(data)];
            own.into_iter().chain(unique.map(|it| it.to_string())).map(Some).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_wire::memcached::codec::decode;

    use super::*;

    #[test]
    fn a_command_is_a_line_or_a_line_and_its_value() {
        for (ask, sent) in [
            ("stats settings", "stats settings\r\n"),
            ("get a b\r\n", "get a b\r\n"),
            ("set k 0 0 3\nabc", "set k 0 0 3\r\nabc\r\n"),
            ("set k 0 0 4\r\na\r\nb\r\n", "set k 0 0 4\r\na\r\nb\r\n"),
            ("cas k 0 0 1 77\nx\n", "cas k 0 0 1 77\r\nx\r\n"),
            ("set k 0 0 0\n\n", "set k 0 0 0\r\n\r\n"),
        ] {
            let batch = command(ask).unwrap_or_else(|| panic!("{ask:?}"));
            assert_eq!((str::from_utf8(batch.bytes()).unwrap(), batch.len()), (sent, 1));
        }
    }

    #[test]
    fn what_is_not_answered_once_or_would_be_read_as_more_is_refused() {
        let long = format!("set {} 0 0 1\nx", "k".repeat(251));
        for ask in [
            "",
            "quit",
            "watch fetchers",
            "shutdown",
            "mg k v",
            "get k\nflush_all",
            "delete k noreply",
            "get  k",
            "stats\tsettings",
            "set k 0 0 3",
            "set k 0 0 3\nab",
            "set k 0 0 3\nabcd",
            "set k 0 0 3 noreply\nabc",
            "set k 0 0 -1\nabc",
            "set k x 0 3\nabc",
            "cas k 0 0 3\nabc",
            "set k 0 0 99999999999999999999\nabc",
            &long,
        ] {
            assert!(commands(&[ask.to_owned()]).is_err(), "{ask:?}");
        }
    }

    #[test]
    fn a_reply_is_rows_by_value_or_counter() {
        let rows = |bytes: &[u8]| rows_of(decode(bytes).unwrap().unwrap().1);
        let own = |it: &str| Some(it.to_owned());
        assert_eq!(rows(b"STORED\r\n"), [[own("STORED")]]);
        assert_eq!(rows(b"NOT_FOUND\r\n"), [[own("NOT_FOUND")]]);
        assert_eq!(rows(b"7\r\n"), [[own("7")]]);
        assert_eq!(rows(b"END\r\n"), Rows::new());
        assert_eq!(rows(b"VALUE k 1 2\r\nab\r\nEND\r\n"), [[own("k"), own("1"), own("ab")]]);
        assert_eq!(rows(b"VALUE k 1 1 9\r\na\r\nEND\r\n")[0][3], own("9"));
        let stats = rows(b"STAT pid 1\r\nSTAT inter NULL\r\nEND\r\n");
        assert_eq!(stats, [[own("pid"), own("1")], [own("inter"), own("NULL")]]);
    }
}
