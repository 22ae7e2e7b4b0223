//! Chains of addresses as chains of functions.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::maps::{Mapping, Maps};
use super::record::Address;
use super::symbols::{Image, Kernel, Place};
use super::tally::Stack;

const ANONYMOUS: &str = "[anonymous]";
const KERNEL: &str = "[kernel]";
const UNMAPPED: &str = "[unmapped]";
const ENDED: &str = "[process that ended]";

/// A function: its name, and the file that it is in.
///
/// Where no symbol says a name it is `[FILE]+0x..`, the link-time address where the function
/// begins, with the next named function behind it if that is close, or `[FILE]+unknown` where
/// nothing says that; `[anonymous]` is memory without a file, such as code that was compiled at run
/// time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Function {
    /// Without parameters.
    pub name: String,
    /// Without its folder.
    pub module: String,
}

/// Samples by chain of functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Every function of a chain, once.
    pub functions: Vec<Function>,
    /// Places in `functions`, outermost first, and how many samples.
    pub stacks: Vec<(Vec<usize>, u64)>,
}

/// Names chain after chain; files are read when they are first needed.
pub struct Namer<'m> {
    maps: &'m BTreeMap<u32, Maps>,
    kernel: Option<Kernel>,
    images: HashMap<PathBuf, Option<Image>>,
    places: HashMap<(u32, Address), Option<usize>>,
    by_function: HashMap<Function, usize>,
    functions: Vec<Function>,
    stacks: BTreeMap<Vec<usize>, u64>,
}

impl<'m> Namer<'m> {
    /// Of what these processes have mapped.
    pub fn new(maps: &'m BTreeMap<u32, Maps>) -> Self {
        Self {
            maps,
            kernel: None,
            images: HashMap::new(),
            places: HashMap::new(),
            by_function: HashMap::new(),
            functions: Vec::new(),
            stacks: BTreeMap::new(),
        }
    }

    /// Adds the samples of one chain. From the first caller on that is nowhere in the process it is
    /// no chain of calls any more, and is left out.
    pub fn add(&mut self, (pid, chain): &Stack, count: u64) {
        let mut frames = Vec::new();
        for address in chain {
            match self.place(*pid, *address) {
                Some(place) => frames.push(place),
                None if frames.is_empty() => {
                    let has_maps = self.maps.get(pid).is_some_and(|maps| !maps.is_empty());
                    let name = if has_maps { UNMAPPED } else { ENDED };
                    frames.push(self.number(function(name, "")));
                    break;
                }
                None => break,
            }
        }
        frames.reverse();
        *self.stacks.entry(frames).or_default() += count;
    }

    /// What was added.
    pub fn finish(self) -> Named {
        Named { functions: self.functions, stacks: self.stacks.into_iter().collect() }
    }

    fn place(&mut self, pid: u32, address: Address) -> Option<usize> {
        // An address of the kernel is the same in all processes.
        let key = (if address.is_kernel { 0 } else { pid }, address);
        if let Some(known) = self.places.get(&key) {
            return *known;
        }
        let place = self.function_at(pid, address).map(|function| self.number(function));
        self.places.insert(key, place);
        place
    }

    fn number(&mut self, function: Function) -> usize {
        *self.by_function.entry(function).or_insert_with_key(|function| {
            self.functions.push(function.clone());
            self.functions.len() - 1
        })
    }

    fn function_at(&mut self, pid: u32, address: Address) -> Option<Function> {
        if address.is_kernel {
            let kernel = self.kernel.get_or_insert_with(Kernel::read);
            let name = kernel.name_at(address.at);
            return Some(function(name.as_deref().unwrap_or(KERNEL), KERNEL));
        }
        let (start, mapping) = self.maps.get(&pid)?.find(address.at)?;
        let path = mapping.path.as_str();
        if is_anonymous(path) {
            return Some(function(ANONYMOUS, ""));
        }
        if path.starts_with('[') {
            return Some(function(path, path));
        }
        let module = path.rsplit('/').next().unwrap_or(path);
        let offset = address.at - start + mapping.offset;
        let name = match self.image(pid, start, mapping).and_then(|image| image.at(offset)) {
            Some(Place::Named(name)) => name,
            Some(Place::Nameless(start, None)) => format!("[{module}]+{start:#x}"),
            Some(Place::Nameless(start, Some(next))) => {
                format!("[{module}]+{start:#x} (before {next})")
            }
            None => format!("[{module}]+unknown"),
        };
        Some(function(&name, module))
    }

    /// The file behind a mapping, as that process sees it.
    fn image(&mut self, pid: u32, start: u64, mapping: &Mapping) -> Option<&Image> {
        let seen = if mapping.is_deleted {
            format!("/proc/{pid}/map_files/{start:x}-{:x}", mapping.end)
        } else {
            format!("/proc/{pid}/root{}", mapping.path)
        };
        // Processes that share a file share its symbols, except where it can be had from one only.
        let key = if mapping.is_deleted { &seen } else { &mapping.path };
        let image = self.images.entry(PathBuf::from(key)).or_insert_with(|| {
            let plain = || (!mapping.is_deleted).then(|| Image::open(Path::new(&mapping.path)));
            Image::open(Path::new(&seen)).or_else(|| plain().flatten())
        });
        image.as_ref()
    }
}

fn function(name: &str, module: &str) -> Function {
    Function { name: name.to_owned(), module: module.to_owned() }
}

fn is_anonymous(path: &str) -> bool {
    const OTHERS: [&str; 4] = ["[anon", "//anon", "/anon_hugepage", "/dev/zero"];
    path.is_empty() || OTHERS.iter().any(|other| path.starts_with(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(at: u64) -> Address {
        Address { is_kernel: false, at }
    }

    fn named(chains: &[&[Address]]) -> Named {
        let mut maps = Maps::default();
        maps.add(
            "1000-2000 r-xp 00000000 fe:00 12 /no/such/folder/lib.so.6\n\
             2000-3000 rwxp 00000000 00:00 0\n\
             3000-4000 r-xp 00000000 00:00 0 [vdso]\n\
             4000-5000 rwxp 00000000 00:00 9 /anon_hugepage (deleted)\n",
        );
        let maps = BTreeMap::from([(7, maps)]);
        let mut namer = Namer::new(&maps);
        for chain in chains {
            namer.add(&(7, chain.to_vec()), 1);
        }
        namer.finish()
    }

    fn told(named: &Named) -> Vec<(Vec<&str>, u64)> {
        let name = |place: &usize| named.functions[*place].name.as_str();
        named.stacks.iter().map(|(frames, n)| (frames.iter().map(name).collect(), *n)).collect()
    }

    #[test]
    fn a_place_without_a_symbol_is_named_by_what_is_known_of_it() {
        let found = named(&[&[user(0x1000)], &[user(0x2000)], &[user(0x3000)], &[user(0x4000)]]);
        let mut names = told(&found);
        names.sort();
        let expected =
            [(vec!["[anonymous]"], 2), (vec!["[lib.so.6]+unknown"], 1), (vec!["[vdso]"], 1)];
        assert_eq!(names, expected);
        assert_eq!(found.functions[0].module, "lib.so.6");
    }

    #[test]
    fn a_chain_is_outermost_first_and_ends_at_the_first_caller_that_is_nowhere() {
        let found = named(&[&[user(0x2000), user(0x3000), user(0x9000), user(0x1000)]]);
        assert_eq!(told(&found), [(vec!["[vdso]", "[anonymous]"], 1)]);
    }

    #[test]
    fn a_sample_that_is_nowhere_is_kept_and_says_so() {
        assert_eq!(told(&named(&[&[user(0x9000), user(0x1000)]])), [(vec!["[unmapped]"], 1)]);
        let maps = BTreeMap::new();
        let mut namer = Namer::new(&maps);
        namer.add(&(8, vec![user(0x1000)]), 3);
        assert_eq!(told(&namer.finish()), [(vec!["[process that ended]"], 3)]);
    }

    #[test]
    fn samples_of_one_chain_of_functions_are_one_whatever_their_addresses() {
        let found = named(&[&[user(0x2000)], &[user(0x2800)]]);
        assert_eq!(told(&found), [(vec!["[anonymous]"], 2)]);
        assert_eq!(found.functions.len(), 1);
    }
}
