//! What a build does: looks up what is stored, compiles the original and the generated code, writes the
//! bindings.

mod results;

use crate::adaptor::language_of;
use crate::archive;
use crate::bindings::{self, Binding, Code, Proven, Table, TargetCode};
use crate::builder::Error;
use crate::cache::Cache;
use crate::compiler::{Settings, include_dir};
use crate::config::{BuildManifest, Library, Metadata};
use crate::cross::Cross;
use crate::current::wanted_of;
use crate::guarded;
use crate::hash::{Preprocessed, preprocess};
use crate::native::in_parallel;
use crate::prototype;
use crate::record::{Prototype, Record, Status, TargetStatus};
use crate::store::{Entry, Keep, Store, write_atomic};
use results::ByKernel;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use tensorize_ir::guard::{Extent, Footprint, Guard, Tier};
use tensorize_ir::loopir;
use tensorize_ir::signature::Language;
use tensorize_ir::text::{parse_guard, parse_idx};

/// One `compile`.
pub(crate) struct Session {
    pub(crate) dir: PathBuf,
    out: PathBuf,
    pub(crate) library: Library,
    pub(crate) settings: Settings,
    metadata: Metadata,
    store: Store,
    cache: Option<Cache>,
    /// The machine that is built for, if it is another one.
    cross: Option<Cross>,
}

/// A C file with the kernels in it.
pub(crate) struct Source {
    pub(crate) file: String,
    pub(crate) kernels: Vec<Kernel>,
    /// Over all that the compiler sees of the file.
    pub(crate) whole: Option<String>,
}

pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) binding: Binding,
    /// The generated C that is to be linked in.
    pub(crate) linked: Vec<Linked>,
}

/// Generated C or C++.
pub(crate) struct Linked {
    pub(crate) target: String,
    pub(crate) source: String,
    pub(crate) language: Language,
}

impl Kernel {
    /// Nothing is dispatched.
    fn stays_the_original(&mut self, why: &str) {
        self.binding.proven = Err(why.into());
        self.binding.targets.clear();
        self.linked.clear();
    }

    /// The code for a target is no good.
    pub(crate) fn withdraw(&mut self, target: &str) {
        self.linked.retain(|l| l.target != target);
        for t in self
            .binding
            .targets
            .iter_mut()
            .filter(|t| t.target == target)
        {
            t.code = Code::Absent("the compiler does not take it".into());
        }
    }
}

pub(crate) fn warn(message: &str) {
    for line in message.lines() {
        println!("cargo::warning={line}");
    }
}

impl Session {
    pub(crate) fn new(dir: PathBuf, out: PathBuf, library: Library) -> Result<Session, Error> {
        println!("cargo::rerun-if-changed=Cargo.toml");
        for name in [
            "TENSORIZE_STRICT",
            "TENSORIZE_BIN",
            "TENSORIZE_BUILD",
            "TENSORIZE_CACHE",
            "TENSORIZE_NOTES",
            "DOCS_RS",
        ] {
            println!("cargo::rerun-if-env-changed={name}");
        }
        println!(
            "cargo::rerun-if-changed={}",
            include_dir().join("tensorize.h").display()
        );
        let metadata = Metadata::load(&dir).map_err(Error::Configuration)?;
        let scratch = out.join("tensorize").join(&library.name);
        fs::create_dir_all(&scratch).map_err(|source| Error::Write {
            path: scratch,
            source,
        })?;
        let settings = Settings::of(&dir, &library);
        let cross = Cross::of_cargo();
        if let Some(why) = cross.as_ref().and_then(|c| c.objection_to(&library.flags)) {
            return Err(Error::Configuration(why));
        }
        let store = Store::of_manifest(&dir);
        let cache = Cache::of_user().unwrap_or_else(|why| {
            warn(&format!("the shared cache is not used: {why}"));
            None
        });
        Ok(Session {
            dir,
            out,
            library,
            settings,
            metadata,
            store,
            cache,
            cross,
        })
    }

    pub(crate) fn scratch(&self) -> PathBuf {
        self.out.join("tensorize").join(&self.library.name)
    }

    pub(crate) fn run(self) -> Result<(), Error> {
        // A read-only source is no error: the subcommand has the metadata, too.
        // Flags that are for another machine are no use to it, which works on this one.
        let for_this_machine = self.cross.is_none() || !BuildManifest::path(&self.dir).exists();
        if results::may_write(&self.dir) && for_this_machine {
            self.note_library();
        }
        let all = in_parallel(&self.library.files, |file| {
            preprocess(&self.settings, Path::new(file)).map_err(Error::Preprocess)
        });
        let mut files = Vec::new();
        for (file, seen) in self.library.files.iter().zip(all) {
            let path = self.dir.join(file);
            println!("cargo::rerun-if-changed={}", path.display());
            let seen = seen?;
            for input in &seen.inputs {
                println!("cargo::rerun-if-changed={}", input.display());
            }
            files.push((file.clone(), seen));
        }
        let entries = self.entries(&files)?;
        if self.store.dir().exists() {
            println!("cargo::rerun-if-changed={}", self.store.dir().display());
        }
        let by_kernel = ByKernel::new(&entries);
        let mut sources: Vec<Source> = files
            .into_iter()
            .map(|(file, seen)| self.source(file, &seen, &by_kernel))
            .collect();
        self.confirm_prototypes(&mut sources);
        let (generated, openmp) = self.compile_generated(&mut sources)?;
        let name = format!("{}_tensorized", self.library.name);
        let mut objects = archive::at_once(generated, &name, &self.out)?;
        objects.extend(self.compile_originals(&sources)?);
        let cpp = sources
            .iter()
            .any(|s| language_of(Path::new(&s.file)) == Language::Cpp);
        cc::Build::new()
            // The standard library is linked after the archive that needs it.
            .cpp(cpp)
            .cargo_warnings(false)
            .objects(objects)
            .try_compile(&self.library.name)?;
        // After the archive that needs it, as linkers want it.
        if let Some(library) = openmp {
            println!("cargo::rustc-link-lib={library}");
        }
        self.write_bindings(&sources)
    }

    /// Tells the subcommand what is compiled here. Cargo compares the times of what is below `.tensorize/`
    /// with the start of this script, so what it writes itself is dated back: it is no reason to run again.
    fn note_library(&self) {
        let file = BuildManifest::path(&self.dir);
        let store = self.store.dir();
        let time = |path: &Path| fs::metadata(path).and_then(|m| m.modified());
        let Ok(before) = time(store).or_else(|_| time(&self.dir.join("Cargo.toml"))) else {
            return;
        };
        let text = || guarded::bytes(&file, guarded::SMALL).ok();
        let old = text();
        if BuildManifest::note(&self.dir, &self.library).is_ok() && text() != old {
            for path in [file.as_path(), store] {
                fs::File::open(path)
                    .and_then(|f| f.set_modified(before))
                    .ok();
            }
        }
    }

    fn source(&self, file: String, seen: &Preprocessed, entries: &ByKernel) -> Source {
        for what in prototype::marked_in_vain(&seen.text) {
            warn(&format!(
                "{file}: TENSORIZE_KERNEL stands before no function: `{what}`"
            ));
        }
        let own = guarded::bytes(&self.dir.join(&file), guarded::SOURCE).unwrap_or_default();
        for name in prototype::marked_but_gone(&seen.text, &String::from_utf8_lossy(&own)) {
            warn(&format!(
                "{file}: TENSORIZE_KERNEL stands before a declaration of `{name}`, which is not defined in this file"
            ));
        }
        let stored = entries.names(&file).into_iter();
        let of_file = stored.clone().flat_map(|name| entries.of(&file, name));
        let records: Vec<&Record> = of_file.map(|e| &e.record).collect();
        let mut names = wanted_of(&self.metadata, &file, seen, records.into_iter());
        names.extend(stored.map(String::from));
        // An operator without a result is the original.
        names.retain(|name| crate::record::is_c_name(name));
        let kernels = names
            .into_iter()
            .map(|name| {
                let current = entries.current(&file, seen, &name);
                let stale = entries.of(&file, &name).first().copied();
                self.kernel(&file, seen, name, current, stale)
            })
            .collect();
        let whole = seen.whole.clone();
        Source {
            file,
            kernels,
            whole,
        }
    }

    fn kernel(
        &self,
        file: &str,
        seen: &Preprocessed,
        name: String,
        current: Option<&Entry>,
        stale: Option<&Entry>,
    ) -> Kernel {
        let any = current.or(stale);
        let guess = || prototype::guess(&seen.text, &name);
        let stored = |e: &Entry| e.record.prototype.clone();
        // A stored prototype spells the types as the user does, but only a current one is sure to fit.
        let prototype: Option<Prototype> = current
            .and_then(stored)
            .or_else(guess)
            .or_else(|| stale.and_then(stored));
        let mut linked = Vec::new();
        let (proven, targets) = match current {
            None if stale.is_some() => (
                Err("it has changed since it was proven".to_string()),
                vec![],
            ),
            None => (Err("`cargo tensorize` has not seen it".to_string()), vec![]),
            Some(entry) => match self.proven(&entry.record) {
                Err(why) => (Err(why), vec![]),
                Ok(proven) => {
                    let targets = self.targets(entry, &mut linked);
                    (Ok(proven), targets)
                }
            },
        };
        // The jump that has such a kernel's name is written for ELF.
        let described = prototype.as_ref().is_some_and(|p| p.source.is_some());
        let (proven, targets) = match described && proven.is_ok() && on_apple() {
            true => {
                linked.clear();
                let why =
                    "on this system, kernels on structs, rows and objects stay the original's";
                (Err(why.to_owned()), vec![])
            }
            false => (proven, targets),
        };
        let line = any.map_or(0, |e| e.record.line);
        let binding = Binding {
            name: name.clone(),
            file: file.into(),
            line,
            hash: current.map_or("-".into(), |e| e.record.hash.clone()),
            prototype,
            proven,
            targets,
        };
        Kernel {
            name,
            binding,
            linked,
        }
    }

    /// What is proven of a kernel, if the user allows its tier.
    fn proven(&self, record: &Record) -> Result<Proven, String> {
        if record.status != Status::Proven {
            let why = record
                .why
                .clone()
                .unwrap_or_else(|| record.status.name().into());
            return Err(match &record.code {
                Some(code) => format!("{code}: {why}"),
                None => why,
            });
        }
        let text = |e: &dyn fmt::Display| format!("its record can't be read: {e}");
        let params = parameters(record);
        let guards = |texts: &[String]| -> Result<Vec<Guard>, _> {
            let all = texts.iter().map(|g| parse_guard(g, &params));
            all.collect::<Result<_, _>>().map_err(|e| text(&e))
        };
        let (guards, within) = (guards(&record.guards)?, guards(&record.within_objects)?);
        let mut footprints = Vec::new();
        let mut tables = BTreeMap::new();
        for f in &record.footprints {
            let parse = |t: &str| parse_idx(t, &params).map_err(|e| text(&e));
            let bounds = |b: &Option<[String; 2]>| {
                let pair = b
                    .as_ref()
                    .map(|[lo, hi]| Ok::<_, String>((parse(lo)?, parse(hi)?)));
                pair.transpose()
            };
            let table = Table {
                columns: bounds(&f.columns)?,
                rows: bounds(&f.rows)?,
                planes: bounds(&f.planes)?,
            };
            tables.insert(f.array.clone(), table);
            footprints.push(Footprint {
                extent: Extent {
                    array: f.array.as_str().into(),
                    lo: parse(&f.lo)?,
                    hi: parse(&f.hi)?,
                },
                reads: f.reads,
                writes: f.writes,
                reads_depend_on_data: f.reads_depend_on_data,
                writes_depend_on_data: f.writes_depend_on_data,
            });
        }
        let tier = record.tier.clone().ok_or("its record has no tier")?;
        Ok(Proven {
            tier,
            guards,
            within_objects: within,
            footprints,
            tables,
        })
    }

    fn targets(&self, entry: &Entry, linked: &mut Vec<Linked>) -> Vec<TargetCode> {
        let allowed = self.metadata.targets();
        // For a comparison: the program with its originals alone, called directly.
        let off = env::var_os("TENSORIZE_BUILD").is_some_and(|v| v == "off");
        let mut list = Vec::new();
        for (target, t) in &entry.record.targets {
            let tier = t.tier.clone().unwrap_or_else(|| "real".into());
            let why_absent = || {
                t.why
                    .clone()
                    .unwrap_or_else(|| "it was not generated".into())
            };
            let params = parameters(&entry.record);
            let guards: Result<Vec<Guard>, _> =
                t.guards.iter().map(|g| parse_guard(g, &params)).collect();
            let code = match (t.status, entry.sources.get(target), &t.entry) {
                _ if !allowed.contains(target) => continue,
                _ if guards.is_err() => Code::Absent("its guards can't be read".into()),
                _ if off => Code::Absent("built with TENSORIZE_BUILD=off".into()),
                (TargetStatus::Generated, Some(_), Some(_))
                    if tier != "exact" && self.metadata.tier() == Tier::Exact =>
                {
                    Code::Absent("it is of tier real, and the configuration wants exact".into())
                }
                (TargetStatus::Generated, Some(source), Some(function)) => match extension(&t.file)
                {
                    ending @ ("c" | "cpp") => {
                        linked.push(Linked {
                            target: target.clone(),
                            source: source.clone(),
                            language: match ending {
                                "c" => Language::C,
                                _ => Language::Cpp,
                            },
                        });
                        let entry = function.clone();
                        match t.emulated {
                            true => Code::Emulated { entry },
                            false => Code::Native {
                                entry,
                                products: source.contains("tensorize_scaled_gemm_"),
                                memory: crate::native::asks_for_memory(source),
                            },
                        }
                    }
                    ending @ ("py" | "cl" | "cu") => {
                        let file = format!(
                            "tensorize/{}/{target}_{}.{ending}",
                            self.library.name, entry.record.name
                        );
                        let entry = function.clone();
                        match write_atomic(
                            &self.out.join(&file),
                            source.as_bytes(),
                            Keep::IfNothingHappens,
                        ) {
                            Err(e) => Code::Absent(e.to_string()),
                            Ok(()) => match ending {
                                "py" => Code::Python { file, entry },
                                "cl" => Code::opencl(file, &entry),
                                _ => Code::cuda(file, &entry),
                            },
                        }
                    }
                    other => Code::Absent(format!("this version does not run .{other} files")),
                },
                _ => Code::Absent(why_absent()),
            };
            list.push(TargetCode {
                target: target.clone(),
                tier,
                guards: guards.unwrap_or_default(),
                code,
            });
        }
        list
    }

    /// Nothing is built on a prototype that the C compiler doesn't confirm.
    fn confirm_prototypes(&self, sources: &mut [Source]) {
        let doubtful = in_parallel(sources, |source| {
            (self.refused_shims(source), self.wrong_prototypes(source))
        });
        for (source, (refused, wrong)) in sources.iter_mut().zip(doubtful) {
            for kernel in &mut source.kernels {
                if refused.contains(&kernel.name) {
                    let why = "the compiler does not take its shim";
                    warn(&format!(
                        "{}::{} stays the original: {why}",
                        source.file, kernel.name
                    ));
                    kernel.stays_the_original(why);
                }
                if wrong.contains(&kernel.name) {
                    kernel.binding.prototype = None;
                    kernel.stays_the_original("its prototype is not the stored one");
                }
            }
        }
    }

    /// The kernels on structs and the like of which the compiler does not take what calls them.
    fn refused_shims(&self, source: &Source) -> BTreeSet<String> {
        let described: Vec<&Kernel> = source
            .kernels
            .iter()
            .filter(|k| k.binding.is_described() && k.binding.is_dispatched())
            .collect();
        if described.is_empty() || self.takes(&source.file, &described) {
            return BTreeSet::new();
        }
        let alone = described
            .iter()
            .filter(|k| !self.takes(&source.file, &[**k]));
        alone.map(|k| k.name.clone()).collect()
    }

    fn wrong_prototypes(&self, source: &Source) -> BTreeSet<String> {
        let list: Vec<(&str, &Prototype)> = source
            .kernels
            .iter()
            .filter(|k| !k.binding.is_described())
            .filter_map(|k| Some((k.name.as_str(), k.binding.prototype.as_ref()?)))
            .collect();
        let file = Path::new(&source.file);
        let agreed = prototype::agree(&self.settings, file, &list, &self.scratch());
        list.iter()
            .zip(agreed)
            .filter(|(_, a)| !a)
            .map(|((n, _), _)| n.to_string())
            .collect()
    }

    fn write_bindings(&self, sources: &[Source]) -> Result<(), Error> {
        // A name stands for one function of the program.
        let mut by_name = BTreeMap::new();
        for kernel in sources.iter().flat_map(|s| &s.kernels) {
            by_name
                .entry(kernel.name.clone())
                .or_insert_with(|| kernel.binding.clone());
        }
        let mut list: Vec<Binding> = by_name.into_values().collect();
        list.sort_by(|a, b| (&a.file, a.line, &a.name).cmp(&(&b.file, b.line, &b.name)));
        let path = self.out.join(format!("{}.rs", self.library.name));
        write_atomic(
            &path,
            bindings::write(&list).as_bytes(),
            Keep::IfNothingHappens,
        )
        .map_err(|source| Error::Write { path, source })
    }
}

/// Whether it is built for a system of Apple's.
pub(crate) fn on_apple() -> bool {
    env::var("CARGO_CFG_TARGET_VENDOR").is_ok_and(|v| v == "apple")
}

/// The flat parameters, for texts in which what is in memory occurs.
fn parameters(record: &Record) -> Vec<loopir::Param> {
    let all = record.prototype.iter().flat_map(|p| &p.params);
    all.filter_map(|p| {
        let (name, elem) = (p.name.as_str().into(), p.scalar.parse().ok()?);
        Some(match p.pointer {
            true => loopir::Param::Array {
                name,
                elem,
                is_const: p.is_const,
                restrict: p.restrict,
            },
            false => loopir::Param::Scalar { name, ty: elem },
        })
    })
    .collect()
}

fn extension(file: &Option<String>) -> &str {
    file.as_deref()
        .and_then(|f| f.rsplit_once('.'))
        .map_or("", |(_, e)| e)
}
