//! Kernels of which it is known what becomes of them, in `fixtures/`: each says so in its first lines.

use super::{code, fixtures, json, kernel, stderr, tensorize, tensorize_in};
use serde_json::Value;

/// The words after `// expect:`, one list for each such line. Of what is proven: its name and its tier; where it matters, an
/// operator of its summary, and `needs` with instructions that not every machine has.
type Expected = Vec<Vec<String>>;

/// The files of a folder with the words of their lines `// expect: …`, the first of which comes first.
fn expectations(folder: &str) -> Vec<(String, Expected)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(fixtures().join(folder))
        .unwrap()
        .flatten()
    {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "c" || e == "cpp") {
            let text = std::fs::read_to_string(&path).unwrap();
            let expect: Expected = text
                .lines()
                .filter_map(|l| l.strip_prefix("// expect: "))
                .map(|l| {
                    l.split_whitespace()
                        .map(|w| w.trim_matches('"').to_owned())
                        .collect()
                })
                .collect();
            assert!(text.starts_with("// expect: "), "{path:?}");
            let name = entry.file_name().into_string().unwrap();
            found.push((format!("{folder}/{name}"), expect));
        }
    }
    assert!(!found.is_empty(), "{folder} is empty");
    found.sort();
    found
}

/// What is said of a kernel of one of these files.
fn kernel_of<'a>(lines: &'a [Value], file: &str, name: &str) -> &'a Value {
    let of_file: Vec<&Value> = lines.iter().filter(|l| l["file"] == file).collect();
    let mut kernels = of_file.iter().filter(|l| l["reason"] == "kernel");
    kernels
        .find(|l| l["name"] == name)
        .unwrap_or_else(|| panic!("no kernel {name} in {of_file:?}"))
}

/// Whether this machine has what the line of a kernel says that it needs, as `needs avx512f`.
fn has_what_it_needs(expect: &[String]) -> bool {
    let needs = expect.iter().skip_while(|word| *word != "needs").nth(1);
    match needs.map(String::as_str) {
        None => true,
        #[cfg(target_arch = "x86_64")]
        Some("avx512f") => is_x86_feature_detected!("avx512f"),
        Some(other) => panic!("{other} is no instruction set that these tests know"),
    }
}

/// Whether the original was run; where that needs more than the machine has, whether it was not run for that reason.
fn is_run_where_it_can_be(kernel: &Value, expect: &[String]) -> bool {
    if has_what_it_needs(expect) {
        return kernel["evidence"]["inputs"].as_u64() > Some(0);
    }
    let lacks = |note: &Value| {
        let note = note.as_str().unwrap_or_default();
        note.contains("instructions that this machine does not have")
    };
    let notes = kernel["notes"].as_array();
    kernel["evidence"].is_null() && notes.is_some_and(|all| all.iter().any(lacks))
}

/// All are proven as they say, and do what the compiled original does.
#[test]
fn fixtures_that_are_proven() {
    let all = expectations("proven");
    let mut args = vec!["lift", "--message-format", "json"];
    args.extend(all.iter().map(|(file, _)| file.as_str()));
    let lines = json(&tensorize(&args));
    let mut wrong = Vec::new();
    for (file, expect) in all
        .iter()
        .flat_map(|(f, all)| all.iter().map(move |e| (f, e)))
    {
        let k = kernel_of(&lines, file, &expect[0]);
        let operator = expect.get(2).filter(|o| *o != "needs");
        let operator = operator.map_or("", |o| o.as_str());
        let right = k["status"] == "proven"
            && k["tier"] == expect[1].as_str()
            && k["summary"].as_str().is_some_and(|s| s.contains(operator))
            && is_run_where_it_can_be(k, expect);
        if !right {
            wrong.push(format!("{file}: {k}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Much C++ is older than what compilers take it for: what the front end sees of C++14 is another tree.
#[test]
fn fixtures_in_the_cpp_of_2014_are_proven() {
    let mut all = expectations("proven");
    all.retain(|(file, _)| file.ends_with(".cpp"));
    let mut args = vec!["lift", "--no-differential", "--message-format", "json"];
    args.extend(all.iter().map(|(file, _)| file.as_str()));
    args.extend(["--", "-std=c++14"]);
    let lines = json(&tensorize(&args));
    let (mut proven, mut wrong, mut newer) = (0, Vec::new(), Vec::new());
    for (file, expect) in &all {
        let mut of_file = lines.iter().filter(|l| l["file"] == file.as_str());
        // What is not C++14 makes other things of the rest of its file.
        if of_file.any(|l| l["code"] == "TZ0203") {
            newer.push(file.as_str());
            continue;
        }
        for e in expect {
            let k = kernel_of(&lines, file, &e[0]);
            match k["status"] == "proven" {
                true => proven += 1,
                false => wrong.push(format!("{file}: {k}")),
            }
        }
    }
    println!("left out, as they are no C++14: {}", newer.join(", "));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(proven > 100, "{proven}");
}

/// What passes on what a kernel throws is written in C++11: C++98 is compiled as that, and runs beside its code.
#[test]
fn cpp_from_before_2011_is_run() {
    let file = "proven/cpp98.cpp";
    let args = [
        "lift",
        "--target",
        "cpu",
        "--message-format",
        "json",
        file,
        "--",
        "-std=c++98",
    ];
    let lines = json(&tensorize(&args));
    let kernels: Vec<_> = lines.iter().filter(|l| l["reason"] == "kernel").collect();
    assert_eq!(kernels.len(), 3, "{lines:?}");
    for k in kernels {
        assert_eq!(k["targets"]["cpu"]["status"], "generated", "{k}");
        assert!(k["evidence"]["inputs"].as_u64() > Some(0), "{k}");
    }
}

#[test]
fn fixtures_that_are_unsupported_say_what_where_and_how_the_others_go_on() {
    for (file, expect) in expectations("unsupported") {
        let out = tensorize(&[
            "lift",
            &file,
            "--message-format",
            "json",
            "--no-differential",
        ]);
        // For people: the line of the construct.
        let human = tensorize(&["lift", &file, "--no-differential"]);
        let text = stderr(&human);
        assert!(text.contains(&format!("{file}:")), "{file}: {text}");
        let source = std::fs::read_to_string(fixtures().join(&file)).unwrap();
        for (i, _) in source
            .lines()
            .enumerate()
            .filter(|(_, l)| l.ends_with("// refused here"))
        {
            let place = format!("{file}:{}:", i + 1);
            assert!(text.contains(&place), "{place} {text}");
        }
        // And what can be done.
        let refusals = text.split("\n\n").filter(|t| t.contains("[TZ0"));
        for refusal in refusals {
            assert!(refusal.contains("= help: "), "{refusal}");
        }
        let lines = json(&out);
        assert_eq!(kernel(&lines, "fine")["status"], "proven", "{file}");
        for expect in expect {
            let k = kernel(&lines, &expect[0]);
            assert_eq!(k["code"], expect[1].as_str(), "{file}: {k}");
            let why = k["why"].as_str().unwrap().to_lowercase();
            assert!(
                why.contains(&expect[2..].join(" ").to_lowercase()),
                "{file}: {k}"
            );
            let (status, says) = match expect[1].as_str() {
                "TZ0203" => ("error", "error"),
                "TZ0402" => ("unproven", "warning"),
                _ => ("unsupported", "error"),
            };
            assert_eq!(k["status"], status, "{file}: {k}");
            // What is only not proven fails nothing, unless that is asked for.
            let any = |status: &str| lines.iter().any(|k| k["status"] == status);
            let exit = match (any("error"), any("unsupported")) {
                (true, _) => 101,
                (false, true) => 103,
                (false, false) => 0,
            };
            assert_eq!(code(&out), exit, "{file}");
            assert!(
                text.contains(&format!("{says}[{}]", expect[1])),
                "{file}: {text}"
            );
        }
    }
}

/// Code for fixtures that have some with a shape of its own, run beside the compiled original: stores under conditions, what
/// a later store writes again, counts in memory, loops in an order of their own.
#[test]
fn code_for_fixtures_does_what_the_compiled_original_does() {
    let all = [
        "bits.cpp",
        "both.cpp",
        "copies_within.cpp",
        "counted_down.c",
        "cut.cpp",
        "declared_first.c",
        "elementary.c",
        "first_values.cpp",
        "initialisers.c",
        "nested_search.c",
        "over_time.c",
        "ranges.cpp",
        "replaced.cpp",
        "shrinking.c",
        "two_passes.c",
        "under_conditions.c",
        "written_over.cpp",
    ];
    let files = all.map(|f| format!("proven/{f}"));
    let mut args = vec!["lift", "--target", "cpu", "--message-format", "json"];
    args.extend(files.iter().map(String::as_str));
    let lines = json(&tensorize(&args));
    let listed = std::fs::read_to_string(fixtures().join("proven/without_code.golden")).unwrap();
    let has_none = |file: &str, name: &str| {
        let file = file.trim_start_matches("proven/");
        listed.contains(&format!("{file}: {name}: "))
    };
    let all = expectations("proven").into_iter();
    for (file, expect) in all.filter(|(file, _)| files.contains(file)) {
        let mut ran = 0;
        for name in expect.iter().map(|e| &e[0]) {
            let k = kernel_of(&lines, &file, name);
            let code = &k["targets"]["cpu"]["status"];
            assert_eq!(code == "generated", !has_none(&file, name), "{k}");
            ran += usize::from(code == "generated");
        }
        assert!(ran > 0, "{file}");
    }
}

#[test]
fn summaries_of_somebody_else_are_proven_or_refuted() {
    for folder in ["proven", "refuted"] {
        let mut tried = 0;
        for (file, expect) in expectations(folder) {
            let summary = file.replace(".c", ".tir");
            if !fixtures().join(&summary).exists() {
                continue;
            }
            tried += 1;
            let expect = &expect[0];
            let function = format!("{file}::{}", expect[0]);
            let out = tensorize(&[
                "prove",
                &function,
                "--summary",
                &summary,
                "--message-format",
                "json",
            ]);
            let lines = json(&out);
            assert_eq!(
                kernel(&lines, &expect[0])["status"],
                folder,
                "{file}: {}",
                stderr(&out)
            );
            assert_eq!(
                code(&out),
                if folder == "proven" { 0 } else { 100 },
                "{file}"
            );
        }
        assert!(tried > 0, "{folder} has no summary");
    }
}

/// Where sizes are constants of the source, no input is small. Code for frameworks is compared at some places, or over one
/// run of a loop over time; and what nobody can run has no code, which is no fault of the code's.
#[test]
fn code_for_constant_shapes_is_run() {
    let dir = tempfile::tempdir().unwrap();
    let c = "void scale(const float *x, float *y)\n\
             { for (int i = 0; i < 400000; i++) y[i] = 2 * x[i]; }\n\
             void spread(float *x, float *y)\n\
             { for (int t = 0; t < 40; t++) {\n\
                 for (int i = 1; i < 999; i++) y[i] = (x[i - 1] + x[i + 1]) / 2;\n\
                 for (int i = 1; i < 999; i++) x[i] = y[i]; } }\n\
             void huge(const float *x, float *y)\n\
             { for (long i = 0; i < 3000000; i++) y[i] = 2 * x[i]; }\n";
    std::fs::write(dir.path().join("k.c"), c).unwrap();
    let args = [
        "lift",
        "k.c",
        "--target",
        "numpy",
        "--message-format",
        "json",
    ];
    let lines = json(&tensorize_in(dir.path(), &args));
    for name in ["scale", "spread"] {
        let code = &kernel(&lines, name)["targets"]["numpy"];
        assert_eq!(code["status"], "generated", "{name}: {code}");
    }
    let code = &kernel(&lines, "huge")["targets"]["numpy"];
    assert_eq!(code["status"], "not-run", "{code}");
    let why = code["why"].as_str().unwrap_or_default();
    assert!(why.contains("small enough to be tried"), "{code}");
}
