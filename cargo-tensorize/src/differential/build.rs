//! Compiles C functions together with the driver that runs them.

use super::Error;
use crate::scratch::Scratch;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tensorize_build::adaptor::{self, Adaptor, Flat, c_type};
use tensorize_build::compiler::standard_besides;
use tensorize_ir::guard::{Guard, Tier};
use tensorize_ir::signature::{self, Language};
use tensorize_lift::c::Signature;
use wait_timeout::ChildExt;

/// The program that calls the functions.
const DRIVER: &str = include_str!("driver.c");

/// A compiler that takes longer than this has lost its way.
const COMPILE_LIMIT: Duration = Duration::from_secs(120);

/// C code beside the original, with an entry of the same signature as one of the original's functions.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What it is called in reports, such as `cpu`.
    pub name: String,
    /// The number of the function that it stands for.
    pub of: usize,
    /// The C symbol.
    pub symbol: String,
    /// The C source.
    pub source: String,
    /// How it is compiled, on top of the defaults.
    pub flags: Vec<String>,
    /// C or C++.
    pub language: Language,
    /// How much is promised of it.
    pub tier: Tier,
    /// What a call has to meet beyond the kernel's guards.
    pub guards: Vec<Guard>,
}

/// What is compiled.
pub(super) struct Plan<'a> {
    pub file: &'a Path,
    pub dir: &'a Path,
    pub flags: &'a [String],
    pub functions: &'a [(String, Signature)],
    pub variants: &'a [Variant],
}

impl Plan<'_> {
    fn language(&self) -> Language {
        let mut known = self.functions.iter().filter_map(|(_, s)| s.source.as_ref());
        known
            .next()
            .map_or_else(|| adaptor::language_of(self.file), |s| s.language)
    }
}

/// The compiled program.
pub(super) struct Built {
    /// Goes away with the value.
    pub folder: Scratch,
    pub program: PathBuf,
    /// For each variant, why it does not compile, if it doesn't.
    pub broken: Vec<Option<String>>,
}

pub(super) fn build(plan: &Plan<'_>) -> Result<Built, Error> {
    if cfg!(target_endian = "big") {
        return Err(Error::Source(
            "the driver knows little-endian machines only".into(),
        ));
    }
    let cpp = plan.language() == Language::Cpp;
    let cc = compiler("CC", "cc");
    // It makes the original, and links.
    let main = if cpp {
        compiler("CXX", "c++")
    } else {
        cc.clone()
    };
    let folder = Scratch::new()?;
    let at = |name: &str| folder.path().join(name);
    let user_flags: Vec<String> = compile_flags(plan.flags);
    let source = at(if cpp { "original.cpp" } else { "original.c" });
    std::fs::write(&source, original(plan)?)?;

    let mut original = Vec::from(["-O2", "-ffp-contract=off"].map(String::from));
    original.extend(user_flags.iter().cloned());
    if cpp {
        original.extend(standard_besides(&user_flags).map(String::from));
    }
    let mut queue = vec![(main.clone(), source, original)];
    for (i, v) in plan.variants.iter().enumerate() {
        let (path, compiler) = match v.language {
            Language::C => (at(&format!("variant{i}.c")), cc.clone()),
            Language::Cpp => (at(&format!("variant{i}.cpp")), compiler("CXX", "c++")),
        };
        std::fs::write(&path, &v.source)?;
        let mut flags = Vec::from(["-O2", "-ffp-contract=off", "-fwrapv"].map(String::from));
        flags.extend(compile_flags(&v.flags));
        queue.push((compiler, path, flags));
    }
    if !plan.variants.is_empty() {
        std::fs::write(at("table.c"), table(plan))?;
        std::fs::write(at("products.c"), backends::cpu::PRODUCTS)?;
        queue.push((cc.clone(), at("products.c"), machine_flags(&user_flags)));
        queue.push((cc.clone(), at("table.c"), machine_flags(&user_flags)));
    }
    std::fs::write(at("driver.o"), driver(&cc, &machine_flags(&user_flags))?)?;
    let mut objects = Vec::new();
    let mut broken = Vec::new();
    for (i, (path, result)) in compile_all(plan.dir, queue).into_iter().enumerate() {
        // The first is the original, then come the variants.
        let is_variant = (1..=plan.variants.len()).contains(&i);
        match result {
            Ok(()) => objects.push(path.with_extension("o")),
            // The rest can be run without it.
            Err(Error::Compiler(why)) if is_variant => {
                broken.push(Some(why));
                continue;
            }
            Err(e) => return Err(e),
        }
        if is_variant {
            broken.push(None);
        }
    }

    let program = at("program");
    let mut flags: Vec<OsString> = user_flags.iter().map(OsString::from).collect();
    flags.extend(
        plan.variants
            .iter()
            .flat_map(|v| compile_flags(&v.flags))
            .map(OsString::from),
    );
    flags.extend(objects.iter().map(OsString::from));
    flags.push(at("driver.o").into());
    flags.extend(["-pthread", "-lm", "-o"].map(OsString::from));
    flags.push(program.clone().into());
    let link = |more: &[&str]| -> Result<(), Error> {
        let mut command = Command::new(&main[0]);
        command
            .args(&main[1..])
            .arg("-w")
            .args(&flags)
            .args(more)
            .current_dir(plan.dir);
        spawn(command, at("link.log"))?.finish()
    };
    // What other files of the project would define is not there, and no kernel calls it.
    let unresolved: &[&str] = match cfg!(target_vendor = "apple") {
        true => &["-Wl,-undefined,dynamic_lookup"],
        false => &["-no-pie", "-Wl,--unresolved-symbols=ignore-all"],
    };
    link(&[]).or_else(|first| link(unresolved).map_err(|_| first))?;
    Ok(Built {
        folder,
        program,
        broken,
    })
}

/// What a variable names, with its arguments, or the usual compiler.
fn compiler(variable: &str, usual: &str) -> Vec<String> {
    let named = std::env::var(variable).unwrap_or_default();
    let words: Vec<String> = named.split_whitespace().map(String::from).collect();
    if words.is_empty() {
        vec![usual.into()]
    } else {
        words
    }
}

/// Without what would make the compiler write something else, or somewhere else.
fn compile_flags(flags: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        match flag.as_str() {
            "-c" | "-S" | "-E" | "-fsyntax-only" | "-M" | "-MM" | "-MD" | "-MMD" | "-MP"
            | "-MG" => {}
            // Every file says by its name what it is; objects are linked with the same flags.
            "-o" | "-MF" | "-MT" | "-MQ" | "-x" => {
                flags.next();
            }
            _ => out.push(flag.clone()),
        }
    }
    out
}

/// The flags that decide which objects can be linked with one another.
fn machine_flags(flags: &[String]) -> Vec<String> {
    let mut out = vec!["-O1".to_owned()];
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        if flag == "-target" || flag == "-isysroot" {
            out.push(flag.clone());
            out.extend(flags.next().cloned());
        } else if [
            "-m",
            "--target",
            "--sysroot",
            "-fsanitize",
            "-fPI",
            "-fpi",
            "-fno-pi",
        ]
        .iter()
        .any(|prefix| flag.starts_with(prefix))
        {
            out.push(flag.clone());
        }
    }
    out
}

/// The original and, after it, a call of each function through untyped pointers.
fn original(plan: &Plan<'_>) -> Result<String, Error> {
    let file = std::path::absolute(plan.dir.join(plan.file))?;
    let file = file.to_str().filter(|f| !f.contains(['"', '\n']));
    let file = file.ok_or_else(|| {
        Error::Source(format!(
            "no #include can name the file {}; rename what has a quotation mark or a line break in its name",
            plan.file.display()
        ))
    })?;
    let language = plan.language();
    // C++'s library then ends a call that reads beside a vector's elements, which no program may (`Checker::is_undefined`).
    let checked = match language {
        Language::Cpp => "#define _GLIBCXX_ASSERTIONS 1\n",
        Language::C => "",
    };
    let mut c = format!(
        "{checked}#define main tensorize_original_main\n#include \"{file}\"\n#undef main\n"
    );
    let mut entries = String::new();
    if plan.functions.iter().any(|(_, s)| s.source.is_some()) {
        c += adaptor::prelude(language);
    }
    let sources = plan.functions.iter().filter_map(|(_, s)| s.source.as_ref());
    let elsewhere = sources.flat_map(|s| &s.globals).filter(|g| g.elsewhere);
    for name in elsewhere.map(|g| &g.name).collect::<BTreeSet<_>>() {
        // Each call sets them.
        let _ = writeln!(c, "__typeof__({name}) {name} __attribute__((weak));");
    }
    let named = |call: &str| {
        let sources = plan.functions.iter().filter_map(|(_, s)| s.source.as_ref());
        sources.filter(|s| s.call == call).count()
    };
    for (i, (name, signature)) in plan.functions.iter().enumerate() {
        let entry = format!("tensorize_original_{i}");
        c += &match &signature.source {
            Some(source) => {
                let overloaded = named(&source.call) > 1;
                described(&entry, i, signature, source, overloaded)?
            }
            None => call(&entry, name, signature, language),
        };
        let _ = write!(entries, " tensorize_original_{i},");
    }
    if plan.variants.is_empty() {
        c += &call_table(&entries, plan.functions.len());
    }
    Ok(c)
}

/// With variants: the calls of all, in a file of their own, since their names may be anything.
fn table(plan: &Plan<'_>) -> String {
    let mut c = String::new();
    let mut entries = String::new();
    for i in 0..plan.functions.len() {
        let _ = writeln!(
            c,
            "void tensorize_original_{i}(void **tensorize_arguments, void *tensorize_result);"
        );
        let _ = write!(entries, " tensorize_original_{i},");
    }
    for (i, v) in plan.variants.iter().enumerate() {
        let signature = &plan.functions[v.of].1;
        let asks = tensorize_build::asks_for_memory(&v.source);
        c += &prototype(&v.symbol, signature, asks);
        let mut args = arguments(signature, Language::C);
        if asks {
            // There is enough for the sizes that are tried here.
            c += "static _Bool tensorize_there_was;\n";
            args += if args.is_empty() { "" } else { ", " };
            args += "&tensorize_there_was";
        }
        let entry = format!("tensorize_variant_{i}");
        c += &entry_of(&entry, &v.symbol, &args, signature, Language::C);
        let _ = write!(entries, " tensorize_variant_{i},");
    }
    c + &call_table(&entries, plan.functions.len() + plan.variants.len())
}

fn call_table(entries: &str, count: usize) -> String {
    // Constants have internal linkage in C++ unless they are declared before.
    format!(
        "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\
         extern void (*const tensorize_calls[])(void **, void *);\n\
         extern const __UINT64_TYPE__ tensorize_call_count;\n\
         void (*const tensorize_calls[])(void **, void *) = {{{entries} 0}};\n\
         const __UINT64_TYPE__ tensorize_call_count = {count};\n\
         #ifdef __cplusplus\n}}\n#endif\n"
    )
}

/// A call of a function with other parameters than its flat form, by way of a thunk. After the flat
/// arguments there is an array with the bounds of each array.
fn described(
    entry: &str,
    i: usize,
    signature: &Signature,
    source: &signature::Source,
    overloaded: bool,
) -> Result<String, Error> {
    let flat: Vec<Flat> = signature
        .params
        .iter()
        .map(|p| Flat {
            name: p.name.clone(),
            scalar: p.scalar,
            array: p.pointer,
            is_const: p.is_const,
        })
        .collect();
    let adaptor = Adaptor {
        source,
        flat: &flat,
        ret: signature.ret.as_ref().map(|(_, ty)| *ty),
    };
    let thunk = format!("tensorize_thunk_{i}");
    let mut c = adaptor.globals();
    let target = match (source.language, source.is_method()) {
        // Which of them is called is not for the arguments to say.
        (Language::Cpp, false) if overloaded => {
            let types: Vec<&str> = source.params.iter().map(|p| p.ty.as_str()).collect();
            let (returns, types) = (&source.returns, types.join(", "));
            format!("static_cast<{returns} (*)({types})>(&::{})", source.call)
        }
        // A name of the library that the file has made its own, as `using namespace std` does, is another one.
        (Language::Cpp, false) => format!("::{}", source.call),
        _ => source.call.clone(),
    };
    c += &adaptor.thunk(&thunk, &target).map_err(Error::Source)?;
    let extents = format!("tensorize_arguments[{}]", signature.params.len());
    let args = format!(
        "0, (const __INT64_TYPE__ *){extents}{}{}",
        if flat.is_empty() { "" } else { ", " },
        arguments(signature, source.language)
    );
    c += &entry_of(entry, &thunk, &args, signature, source.language);
    Ok(c)
}

/// The flat arguments in `tensorize_arguments`, which has pointers as they are, and points to numbers.
fn arguments(signature: &Signature, language: Language) -> String {
    let args = signature.params.iter().enumerate().map(|(i, p)| {
        let ty = c_type(p.scalar, language);
        match (p.pointer, language) {
            (true, Language::C) => format!("tensorize_arguments[{i}]"),
            (true, Language::Cpp) => format!("({ty} *)tensorize_arguments[{i}]"),
            (false, _) => format!("*({ty} *)tensorize_arguments[{i}]"),
        }
    });
    args.collect::<Vec<_>>().join(", ")
}

fn call(entry: &str, function: &str, signature: &Signature, language: Language) -> String {
    let args = arguments(signature, language);
    entry_of(entry, function, &args, signature, language)
}

fn entry_of(
    entry: &str,
    function: &str,
    args: &str,
    signature: &Signature,
    language: Language,
) -> String {
    let store = signature.ret.as_ref().map_or(String::new(), |(_, ty)| {
        format!("*({} *)tensorize_result = ", c_type(*ty, language))
    });
    let linkage = match language {
        Language::C => "",
        Language::Cpp => "extern \"C\" ",
    };
    format!(
        "{linkage}void {entry}(void **tensorize_arguments, void *tensorize_result) {{ (void)tensorize_arguments; (void)tensorize_result; {store}{function}({args}); }}\n"
    )
}

fn prototype(symbol: &str, signature: &Signature, asks_for_memory: bool) -> String {
    let mut params: Vec<String> = signature
        .params
        .iter()
        .map(|p| match (p.pointer, p.is_const) {
            (true, true) => format!("const {} *", c_type(p.scalar, Language::C)),
            (true, false) => format!("{} *", c_type(p.scalar, Language::C)),
            (false, _) => c_type(p.scalar, Language::C).to_owned(),
        })
        .collect();
    if asks_for_memory {
        params.push("_Bool *".to_owned());
    }
    let params = if params.is_empty() {
        "void".to_owned()
    } else {
        params.join(", ")
    };
    let ret = signature
        .ret
        .as_ref()
        .map_or("void", |(_, ty)| c_type(*ty, Language::C));
    // Weak: a variant that does not compile is not there.
    format!("extern {ret} {symbol}({params}) __attribute__((weak));\n")
}

/// The compiled driver, as the bytes of an object file: once for each compiler and machine.
fn driver(cc: &[String], flags: &[String]) -> Result<Arc<[u8]>, Error> {
    static DONE: Mutex<BTreeMap<Vec<String>, Arc<[u8]>>> = Mutex::new(BTreeMap::new());
    let key: Vec<String> = cc.iter().chain(flags).cloned().collect();
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(object) = done.get(&key) {
        return Ok(object.clone());
    }
    // Not kept: nothing would remove a folder in a static.
    let folder = Scratch::new()?;
    let (source, object) = (
        folder.path().join("driver.c"),
        folder.path().join("driver.o"),
    );
    std::fs::write(&source, DRIVER)?;
    compile(cc, folder.path(), flags, &source, &object)?.finish()?;
    let object: Arc<[u8]> = std::fs::read(object)?.into();
    done.insert(key, object.clone());
    Ok(object)
}

/// Compiles every file with its compiler and flags to an object beside it, a few at a time.
fn compile_all(
    dir: &Path,
    queue: Vec<(Vec<String>, PathBuf, Vec<String>)>,
) -> Vec<(PathBuf, Result<(), Error>)> {
    let at_once = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8);
    let mut queue: VecDeque<_> = queue.into();
    let mut running = VecDeque::new();
    let mut done = Vec::new();
    loop {
        while running.len() < at_once
            && let Some((cc, path, flags)) = queue.pop_front()
        {
            let object = path.with_extension("o");
            let child = compile(&cc, dir, &flags, &path, &object);
            running.push_back((path, child));
        }
        let Some((path, child)) = running.pop_front() else {
            return done;
        };
        done.push((path, child.and_then(Running::finish)));
    }
}

fn compile(
    cc: &[String],
    dir: &Path,
    flags: &[String],
    source: &Path,
    object: &Path,
) -> Result<Running, Error> {
    let mut command = Command::new(&cc[0]);
    command
        .args(&cc[1..])
        .args(flags)
        .args(["-w", "-g0", "-c"])
        .arg(source)
        .arg("-o")
        .arg(object);
    command.current_dir(dir);
    spawn(command, object.with_extension("log"))
}

/// A compiler at work.
struct Running {
    child: Child,
    command: String,
    log: PathBuf,
}

fn spawn(mut command: Command, log: PathBuf) -> Result<Running, Error> {
    let text = command.get_program().to_string_lossy().into_owned();
    // A pipe that nobody reads while the compiler runs could fill up.
    let errors = std::fs::File::create(&log)?;
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors);
    let child = command
        .spawn()
        .map_err(|e| Error::Compiler(format!("can't run '{text}': {e}")))?;
    Ok(Running {
        child,
        command: text,
        log,
    })
}

impl Running {
    fn finish(mut self) -> Result<(), Error> {
        let Some(status) = self.child.wait_timeout(COMPILE_LIMIT)? else {
            let _ = self.child.kill();
            let _ = self.child.wait();
            return Err(Error::Compiler(format!(
                "'{}' does not come to an end",
                self.command
            )));
        };
        if status.success() {
            return Ok(());
        }
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let first: Vec<&str> = log
            .lines()
            .filter(|l| l.contains("error"))
            .take(3)
            .collect();
        let what = if first.is_empty() {
            log.lines().take(3).collect()
        } else {
            first
        };
        Err(Error::Compiler(format!(
            "'{}' failed ({status}): {}",
            self.command,
            what.join("; ")
        )))
    }
}

impl Drop for Running {
    /// A compiler that nobody waits for any more would write into a folder that is gone.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
