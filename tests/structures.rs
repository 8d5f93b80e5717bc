//! Kernels whose parameters are structs, tables of rows, pointers that may be null, and objects of C++: lifted,
//! built and called from C, C++ and Rust.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use tensorize_e2e::{lifted, succeed};

/// The project, lifted and built once, and its program.
fn built() -> &'static (tempfile::TempDir, PathBuf) {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    BUILT.get_or_init(|| lifted("structures"))
}

fn program() -> &'static PathBuf {
    &built().1
}

fn run(mode: &str) -> Vec<String> {
    let printed = succeed(Command::new(program()).env("TENSORIZE", mode));
    let lines: Vec<String> = printed.lines().map(String::from).collect();
    let calls = lines.iter().filter(|l| l.starts_with('C'));
    for line in calls.clone() {
        assert!(line.contains(" ok"), "{mode}: {line}");
        assert!(
            !line.contains("differed") || line.contains("differed 0"),
            "{mode}: {line}"
        );
    }
    assert_eq!(calls.count(), 101, "{printed}");
    let rust: Vec<&str> = lines
        .iter()
        .filter_map(|l| l.strip_prefix("rust "))
        .collect();
    assert_eq!(
        rust,
        [
            "age: it works on `filter` of its file, which other threads may use, too; call it as C does, where none can",
            "[2.0, 4.0, 3.0, 8.0, 10.0, 6.0]",
            "true",
            "Ok(9.0)",
            "Ok(1.5)",
            "[1.0, 2.0]",
            "[6.0, 7.0] Ok(-1)",
            "[1.0] [3.0] [3]",
            "[5, 7, 9] [3]",
            "true",
            "Ok(())",
            "0 3 ([-36.0, -33.0, -30.0], [0.0, 3.0, 6.0]) [2.0, 2.0, 2.0, 2.0, 1.5, 2.0, 2.0, 2.0, 2.0, 2.0, 1.5, 2.0]",
            "Ok(30.0)",
            "Ok(())",
            "false true [5, 2, 5]",
            "Err(\"worth: `all_i1` has 48 elements and needs 67 at these sizes\")",
            "Ok(()) [true] [1]",
            "Ok(()) [false] [0]",
            "Ok(4.0) Err(\"gain: with these sizes, `3*all_size - 5 >= 0` does not hold, so that it is not known what it touches; call it by way of `sys`\")",
            "true [1, 7, 8] [3] [14, 16]",
            "Err(\"scaled_without_last: it is not known how long the slices have to be (the sizes alone don't say whether all that it reaches is there); run `cargo tensorize`, or call the kernel by way of `sys`\") [1, 7, 8]",
            "[9.0, 12.0]",
            "Ok(()) Err(\"faded: with these sizes, `-which + 2 >= 0` does not hold, so that it is not known what it touches; call it by way of `sys`\") [1.0, 2.0, 3.0, 4.0, 2.5, 3.0]",
            "Ok(3.5) Ok(18) [5, 6, 7]",
        ],
        "{mode}"
    );
    lines
}

/// Who answers which call, and why the original does.
fn answers(lines: &[String], call: &str, expected: &str) {
    let line = lines
        .iter()
        .find(|l| l.starts_with(&format!("{call} ok")))
        .unwrap_or_else(|| panic!("no {call}"));
    for part in expected.split(", ") {
        assert!(line.contains(part), "{call}: {line}\n{expected}");
    }
}

#[test]
fn generated_c_answers_where_it_can() {
    let lines = run("cpu");
    // Rows that are equally far apart; that lie in another order; that overlap; that lie anywhere.
    answers(&lines, "C 0", "scale_matrix original 0 target 1");
    answers(&lines, "C 1", "scale_matrix original 0 target 1");
    answers(
        &lines,
        "C 2",
        "scale_matrix original 1 target 0, rows overlap",
    );
    answers(&lines, "C 3", "scale_matrix original 0 target 1");
    // With a bias, without one, and with nowhere to write to.
    answers(&lines, "C 5", "add_bias original 0 target 1");
    answers(&lines, "C 6", "add_bias original 0 target 1");
    answers(&lines, "C 7", "add_bias original 0 target 1");
    answers(&lines, "C 8", "sum_range original 0 target 3");
    // A struct that its own sum is written over.
    answers(&lines, "C 9", "total original 1 target 1");
    // The same matrix twice; rows of two matrices in turn.
    answers(
        &lines,
        "C 11",
        "matrix_add_matrix original 1 target 1, rows overlap",
    );
    answers(&lines, "C 12", "matrix_add_matrix original 0 target 1");
    answers(&lines, "C 13", "range_of original 0 target 1");
    // Numbers behind pointers and references: elsewhere, and where the kernel writes.
    answers(&lines, "C 14", "daxpy_ original 0 target 1");
    answers(&lines, "C 15", "daxpy_ original 1 target 0");
    answers(&lines, "C 16", "mean_over original 0 target 1");
    // Structs with members of several types: in place, into others, and each into the next one.
    answers(&lines, "C 17", "advance original 0 target 1");
    answers(&lines, "C 18", "shifted original 0 target 1");
    answers(&lines, "C 19", "shifted original 1 target 0");
    // What lies behind a `void *`: apart, the same vector three times, and a length that the kernel writes over.
    answers(&lines, "C 24", "linear_sum original 0 target 1");
    answers(&lines, "C 24", "sum_squares original 0 target 1");
    answers(&lines, "C 26", "linear_sum original 1 target 0");
    answers(&lines, "C 27", "smooth original 1 target 1");
    answers(&lines, "C 28", "brighter original 1 target 1");
    // The data end it, and do not: code does so, too, or the original is called where they do.
    answers(&lines, "C 33", "until_negative original 0 target 2");
    answers(&lines, "C 42", "count_until_unknown original 1 target 1");
    for who in [
        "worth original 0 target 2",
        "close_all original 0 target 2",
        "gain original 0 target 1",
    ] {
        answers(&lines, "C++ 23", who);
    }
    answers(&lines, "C++ 24", "nearest original 0 target 3");
    answers(&lines, "C++ 24", "place_of original 0 target 2");
    for (call, who) in [
        // What is given back is what was passed. Methods that are defined outside of their class.
        ("C 20", "louder original 0 target 3"),
        ("C++ 26", "loudest original 1 target 1"),
        ("C++ 26", "made_louder original 0 target 2"),
        ("C++ 26", "track_operator_times_is original 0 target 2"),
        ("C++ 26", "track_silence original 0 target 1"),
        // Vectors of structs in a class, and an empty one.
        ("C++ 35", "book_open_ones original 0 target 2"),
        ("C++ 35", "book_raise original 0 target 2"),
        // Vectors in a class that change their lengths; and where what they are made of is one of them.
        ("C++ 36", "stage_process original 0 target 2"),
        ("C++ 36", "stage_keep_loud original 0 target 1"),
        ("C++ 36", "stage_restart original 1 target 1"),
        ("C++ 36", "powers original 0 target 1"),
        ("C++ 37", "stage_process original 1 target 1"),
        ("C++ 37", "powers original 1 target 0"),
        // Objects behind pointers; null pointers, and two that point to one.
        ("C++ 38", "smoothed original 0 target 1"),
        ("C++ 38", "kept original 0 target 1"),
        ("C++ 38", "summed original 0 target 1"),
        ("C++ 38", "raised original 0 target 1"),
        ("C++ 38", "masked original 0 target 1"),
        ("C++ 39", "smoothed original 3 target 0"),
        ("C++ 39", "kept original 1 target 0"),
        // What changes where the object is const, and references to members.
        // What is left of a vector is all of it; one of which another's length is asked is another one.
        ("C++ 41", "cleared_from original 0 target 2"),
        ("C++ 41", "without_last original 0 target 1"),
        ("C++ 41", "appended_and_counted original 0 target 1"),
        ("C++ 42", "appended_and_counted original 1 target 0"),
        // Objects that are assigned: of any sizes, of their own; and the same one twice.
        ("C++ 43", "remembered original 0 target 3"),
        ("C++ 43", "squared original 0 target 1"),
        ("C++ 43", "swapped_in original 0 target 1"),
        ("C++ 43", "flip original 1 target 1"),
        ("C++ 43", "layer_forward original 0 target 1"),
        ("C++ 43", "layer_again original 0 target 1"),
        ("C++ 44", "remembered original 1 target 0"),
        ("C++ 44", "swapped_in original 3 target 0"),
        ("C++ 44", "layer_forward original 1 target 1"),
        // Accessors that throw, or stay inside; and floats that are too large, not positive, or none.
        ("C++ 45", "row_sum original 0 target 2"),
        ("C++ 45", "blurred original 0 target 1"),
        ("C++ 45", "relaxed original 0 target 1"),
        ("C++ 45", "plus original 0 target 3"),
        ("C++ 45", "less original 1 target 1"),
        ("C++ 46", "plus original 1 target 0"),
        ("C++ 46", "row_sum original 2 target 0"),
        ("C++ 46", "blurred original 1 target 0"),
        ("C++ 46", "relaxed original 3 target 0"),
        ("C++ 40", "meter_weighted original 0 target 1"),
        ("C++ 40", "delay_forward original 0 target 2"),
        ("C++ 40", "delay_counted original 1 target 1"),
        ("C++ 40", "doubled original 0 target 1"),
        // Sizes in an array of a struct, and one that the kernel overwrites.
        ("C 23", "fill_block original 1 target 1"),
        // Complex numbers in C: returned, in a struct, by value and by pointer; and one of those that change.
        ("C 29", "correlated original 0 target 2"),
        ("C 29", "mixed original 0 target 1"),
        ("C 29", "turned original 1 target 1"),
        // Arrays of pointers: in a struct, and one of the file's own.
        ("C 30", "mixed_down original 0 target 2"),
        ("C 30", "faded original 0 target 2"),
        ("C 30", "shared_sum original 0 target 1"),
        ("C 31", "mixed_down original 1 target 0"),
        ("C 32", "louder_copy original 1 target 1"),
        // Volumes: even ones; from the back, which is copied; pointers that are not touched and lead nowhere; rows that share
        // memory; and a row that is a table of pointers.
        ("C 34", "spread original 0 target 1"),
        ("C 35", "spread original 0 target 1"),
        ("C 36", "spread original 1 target 0, can't be read"),
        ("C 37", "spread original 1 target 0, rows overlap"),
        ("C 38", "counted original 1 target 0"),
        // Channels: anywhere; in place, where one reads what the other wrote; and onto a pointer to one. None at all.
        ("C 40", "mid_side original 2 target 1"),
        ("C 40", "likeness original 1 target 1, is null"),
        // As many as a shift says; and a function without a prototype.
        ("C 41", "levels_total original 0 target 1"),
        ("C 41", "louder_window original 0 target 2"),
        ("C 41", "power_sum original 0 target 2"),
        ("C 41", "thinned_out original 0 target 1"),
        ("C 41", "wavelet original 0 target 1"),
        // Between two iterators, or two pointers.
        ("C++ 33", "mean_between original 0 target 3"),
        ("C++ 33", "scaled_between original 0 target 2"),
        ("C++ 33", "largest_between original 0 target 2"),
        // A view in a struct by value, which is written through; a table of structs that is constant.
        ("C++ 34", "centre original 1 target 1"),
        ("C++ 34", "calibrated original 0 target 2"),
        // A struct that begins with the one that the kernel is given; and one that is written over.
        ("C++ 32", "down original 1 target 1"),
        ("C 39", "lowpass_run original 0 target 1"),
        ("C 39", "chain_run original 1 target 1"),
        // A number that lies in rows which are written, or in a vector whose length changes.
        ("C 21", "shift_rows original 1 target 1"),
        ("C 22", "shift_rows original 1 target 1"),
        ("C++ 27", "scaled_without_last original 1 target 1"),
        ("C++ 27", "appended original 1 target 1"),
        ("C++ 27", "scaled_rows original 1 target 1"),
        // What lies behind a `void *` of an object, and a size there that the kernel overwrites.
        ("C++ 29", "normalise original 1 target 1"),
        // By way of references that are private; bytes that are something else.
        ("C++ 28", "follower_follow original 0 target 1"),
        ("C++ 28", "halve_words original 0 target 1"),
        // Arrays of pointers in an object; what is written is one of them.
        ("C++ 31", "stereo_mono original 1 target 1"),
        // Arrays that an object owns.
        ("C++ 30", "shade original 0 target 2"),
        ("C++ 30", "brightest original 0 target 2"),
        // A number that changes by another name, in an object that is passed by reference.
        ("C++ 25", "steer original 1 target 1"),
    ] {
        answers(&lines, call, who);
    }
    answers(&lines, "C++ 16", "scale_by original 1 target 1");
    answers(&lines, "C++ 22", "encode original 1 target 3");
    // What throws is the original.
    answers(&lines, "C++ 18", "product original 0 target 1");
    answers(
        &lines,
        "C++ 19",
        "product original 1 target 0, a guard does not hold",
    );
    // Objects that hold vectors, of a class that nobody can make without a word.
    answers(&lines, "C++ 20", "transposed original 0 target 2");
    answers(&lines, "C++ 21", "total_of original 1 target 1");
    answers(&lines, "C++ 17", "turn original 0 target 1");
    answers(&lines, "C++ 15", "first_over original 0 target 2");
    answers(&lines, "C++ 15", "totals original 0 target 2");
    for call in [0, 1, 2, 4, 5, 9, 10] {
        answers(&lines, &format!("C state {call}"), "original 0 target 1");
    }
    answers(&lines, "C state 7", "count_all original 0 target 2");
    // What a variable holds is written while the call goes by it.
    for call in [3, 6, 8] {
        answers(&lines, &format!("C state {call}"), "original 1 target 0");
    }
    for call in [13, 14] {
        answers(&lines, &format!("C++ {call}"), "original 0 target 2");
    }
    for call in 0..=3 {
        answers(&lines, &format!("C++ {call}"), "original 0 target 1");
    }
    answers(
        &lines,
        "C++ 4",
        "scale original 1 target 0, the rows of `m` differ in length",
    );
    answers(&lines, "C++ 6", "squares original 0 target 1");
    answers(
        &lines,
        "C++ 7",
        "squares original 1 target 0, a vector that changes its length is passed as something else, too",
    );
    answers(&lines, "C++ 12", "add_to original 1 target 0, rows overlap");
}

#[test]
fn the_original_answers_where_it_is_asked_to() {
    run("off");
}

#[test]
fn the_default_answers_alike() {
    run("auto");
}

#[test]
fn numpy_answers_alike() {
    let lines = run("numpy");
    answers(&lines, "C 0", "scale_matrix original 0 target 1");
    answers(&lines, "C++ 3", "scale original 0 target 1");
    answers(&lines, "C 17", "advance original 0 target 1");
    answers(&lines, "C++ 23", "close_all original 0 target 2");
}

#[test]
fn both_run_in_shadow_mode_and_agree() {
    for mode in ["shadow", "shadow=numpy"] {
        let lines = run(mode);
        for call in [
            "C 0",
            "C 3",
            "C 13",
            "C 17",
            "C 18",
            "C state 4",
            "C state 9",
            "C++ 0",
            "C++ 2",
            "C++ 3",
            "C++ 6",
        ] {
            answers(&lines, call, "compared 1");
        }
    }
}

/// Methods, operators and overloads have other names than in the text that marks them.
#[test]
fn a_gate_finds_a_result_for_all_that_is_marked() {
    let manifest = built().0.path().join("Cargo.toml");
    let arguments = ["cargo-tensorize", "check", "--locked", "--manifest-path"];
    let arguments = arguments.map(std::ffi::OsString::from).into_iter();
    let code = cargo_tensorize::main(arguments.chain([manifest.into()]));
    assert_eq!(
        format!("{code:?}"),
        format!("{:?}", std::process::ExitCode::SUCCESS)
    );
}
