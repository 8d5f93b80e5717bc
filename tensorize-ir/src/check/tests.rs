use super::*;
use crate::guard::{Extent, Footprint};
use crate::index::Idx;
use crate::inputs::Limits;
use crate::inputs::Palette;
use crate::loopir::Function;
use crate::scalar::ScalarType;

const SUM: &str = "void f(i32 n, const i32 *x, i32 *out) {
    for (i32 i = 0; i < n; i = i + 1) { out[i] = x[i] + 1; }
}";

fn program(text: &str) -> (Function, Program) {
    let f: Function = text.parse().unwrap();
    let p = Program::new(&f).unwrap();
    (f, p)
}

/// The other side is a second loop.
fn against(other: &str) -> impl FnMut(&Inputs) -> Result<Outputs, String> {
    let (_, p) = program(other);
    move |inputs: &Inputs| {
        let mut after = inputs.clone();
        let returned = p.run(&mut after, 1_000_000).map_err(|s| s.to_string())?;
        Ok(Outputs {
            arrays: after.arrays,
            returned,
        })
    }
}

fn both_extents(kernel: &Function) -> Spec {
    let footprint = |array: &str| Footprint {
        extent: Extent {
            array: array.into(),
            lo: Idx::default(),
            hi: Idx::sym("n"),
        },
        reads: true,
        writes: true,
        reads_depend_on_data: false,
        writes_depend_on_data: false,
    };
    Spec::known(&kernel.params, &[], &[footprint("x"), footprint("out")])
}

#[test]
fn equal_loops_agree_and_undefined_inputs_are_skipped() {
    let (f, p) = program(SUM);
    let same = SUM.replace("x[i] + 1", "1:i32 + x[i]");
    for spec in [
        both_extents(&f),
        Spec::unknown(&f.params).with_constants_of(&f),
    ] {
        let cases = spec.sample(3, 100, Palette::All);
        let tally = compare(
            &p,
            &mut against(&same),
            &spec,
            cases,
            &Comparison::default(),
        )
        .unwrap();
        assert!(tally.compared > 60 && tally.skipped > 2, "{tally:?}");
        assert_eq!(tally.compared + tally.skipped, 100);
    }
}

#[test]
fn a_difference_is_made_small() {
    let (f, p) = program(SUM);
    let wrong = SUM.replace("x[i] + 1", "i == 1 && x[i] > 2 ? x[i] + 2 : x[i] + 1");
    for spec in [both_extents(&f), Spec::unknown(&f.params)] {
        let cases = spec.sample(3, 200, Palette::All);
        let d = compare(
            &p,
            &mut against(&wrong),
            &spec,
            cases,
            &Comparison::default(),
        )
        .unwrap_err();
        let expected = "n = 2, x = [0, 3], out = [0, 0]: out[1]: the loop gives 4, the summary 5";
        assert_eq!(d.text, expected);
    }
}

#[test]
fn an_exhaustive_run_finds_what_needs_one_value() {
    let (f, p) = program(SUM);
    let wrong = SUM.replace("x[i] + 1", "x[i] == -2147483648 ? 0 : x[i] + 1");
    let spec = both_extents(&f);
    let limits = Limits {
        max_size: 1,
        ..Limits::default()
    };
    let d = compare(
        &p,
        &mut against(&wrong),
        &spec,
        spec.exhaustive(limits),
        &Comparison::default(),
    );
    assert!(
        d.unwrap_err()
            .text
            .starts_with("n = 1, x = [-2147483648], out = [0]: out[0]: ")
    );
}

#[test]
fn touching_more_than_the_footprint_is_a_difference() {
    let (f, p) = program(&SUM.replace("i < n", "i <= n"));
    let spec = both_extents(&f);
    let mut how = Comparison::default();
    let run = |how: &Comparison| {
        let cases = spec.sample(3, 50, Palette::Tame);
        compare(
            &p,
            &mut against(&SUM.replace("i < n", "i <= n")),
            &spec,
            cases,
            how,
        )
    };
    assert_eq!(
        run(&how).unwrap_err().text,
        "n = 0: the loop reads x[0], outside of the array"
    );
    how.may_leave_extents = true;
    assert_eq!(run(&how).unwrap().compared, 50);
}

#[test]
fn a_side_without_a_result_is_a_difference() {
    let (f, p) = program(SUM);
    let spec = both_extents(&f);
    let cases = spec.sample(3, 50, Palette::Tame);
    let d = compare(
        &p,
        &mut |_| Err("no idea".into()),
        &spec,
        cases,
        &Comparison::default(),
    );
    assert_eq!(
        d.unwrap_err().text,
        "n = 0: the summary has no result: no idea"
    );
}

#[test]
fn more_elements_than_can_be_held_say_nothing() {
    let (f, p) = program(SUM);
    let spec = both_extents(&f);
    let runs = |why: &str| {
        let cases = spec.sample(3, 5, Palette::Tame);
        let how = Comparison::default();
        compare(&p, &mut |_| Err(why.into()), &spec, cases, &how)
    };
    let tally = runs(&format!("[1099511627776] {}", tensir::TOO_MANY)).unwrap();
    assert_eq!((tally.compared, tally.skipped), (0, 5));
    assert!(runs("no idea").is_err());
}

#[test]
fn a_tolerance_measures_the_error() {
    let (f, p) = program("f32 f(f32 a) { return a * 3.0; }");
    let other = "f32 f(f32 a) { return a * 3.0001; }";
    let spec = Spec::unknown(&f.params);
    let mut how = Comparison {
        same: Same::Within(1e-3),
        ..Comparison::default()
    };
    let run = |how: &Comparison| {
        compare(
            &p,
            &mut against(other),
            &spec,
            spec.sample(3, 50, Palette::Tame),
            how,
        )
    };
    let tally = run(&how).unwrap();
    assert!(
        (1e-5..1e-4).contains(&tally.max_relative_error),
        "{tally:?}"
    );
    how.same = Same::Within(1e-6);
    assert!(
        run(&how)
            .unwrap_err()
            .text
            .starts_with("a = 1.0: the returned value: ")
    );
}

#[test]
fn an_element_at_the_end_of_all_indices_is_out_of_reach() {
    let (f, p) = program("void f(i64 n, const i32 *x, i32 *out) { out[0:i64] = x[n]; }");
    let spec = Spec::unknown(&f.params);
    let mut case = spec.random(1, Palette::Tame).unwrap();
    let how = Comparison::default();
    for n in [i64::MIN, i64::MAX] {
        let n = Scalar::int(crate::scalar::ScalarType::I64, n.into());
        case.inputs.scalars.insert("n".into(), n);
        let stopped = settle(&p, &spec, &case, &how);
        assert!(
            matches!(stopped, Err(Stop::OutOfBounds { .. })),
            "{stopped:?}"
        );
    }
}

#[test]
fn an_input_without_a_result_may_say_nothing() {
    let (f, p) = program(SUM);
    let how = Comparison {
        other_may_fail: true,
        ..Comparison::default()
    };
    let spec = both_extents(&f);
    let mut refuses = |_: &Inputs| Err("it was not there".to_string());
    let tally = compare(
        &p,
        &mut refuses,
        &spec,
        spec.sample(3, 20, Palette::All),
        &how,
    )
    .unwrap();
    assert_eq!((tally.compared, tally.skipped), (0, 20));
}

/// Three numbers, and how many pairs of them a vector has in the end.
fn pairs(v: [i128; 3], size: i128) -> Outputs {
    let buffer = |data: &[i128]| Buffer {
        elem: ScalarType::I64,
        origin: 0,
        data: data
            .iter()
            .map(|&v| Scalar::int(ScalarType::I64, v))
            .collect(),
    };
    Outputs {
        arrays: [
            ("x".into(), buffer(&v)),
            ("x_resized".into(), buffer(&[size])),
        ]
        .into(),
        returned: None,
    }
}

fn of_pairs() -> Comparison {
    Comparison {
        resized: vec![Resized {
            array: "x".into(),
            size: "x_resized".into(),
            each: 2,
        }],
        ..Comparison::default()
    }
}

#[test]
fn nobody_looks_past_the_end_of_a_vector_that_gets_a_length() {
    let seen = |a, b, how| first_difference(&a, &b, how, &mut Tally::default());
    let how = of_pairs();
    assert_eq!(seen(pairs([1, 2, 3], 1), pairs([1, 2, 9], 1), &how), None);
    let differs = |a, b| seen(a, b, &how).is_some();
    assert!(differs(pairs([1, 2, 3], 1), pairs([1, 9, 3], 1)));
    assert!(differs(pairs([1, 2, 3], 2), pairs([1, 2, 9], 2)));
    assert!(differs(pairs([1, 2, 3], 1), pairs([1, 2, 3], 2)));
    let all = Comparison::default();
    assert!(seen(pairs([1, 2, 3], 1), pairs([1, 2, 9], 1), &all).is_some());
}

/// The same where some places are looked at: of what is stored, and of what is not.
#[test]
fn nobody_looks_at_places_past_the_end_of_a_vector_that_gets_a_length() {
    let summary: tensir::Function = "func @f(n: i64, x: ptr<i64>, x_resized: ptr<i64>) {
        %0 = size n : tensor<i64>
        store x_resized[0] = %0
    }"
    .parse()
    .unwrap();
    let differs = |size: i128, last: i128, how: &Comparison| {
        let inputs = Inputs {
            scalars: [("n".into(), Scalar::int(ScalarType::I64, size))].into(),
            arrays: pairs([1, 2, 3], size).arrays,
        };
        let sampled = |stored| Sampled {
            stored,
            returned: None,
            all: 1,
            steps_for_all: 1,
        };
        let three = Scalar::int(ScalarType::I64, 3);
        let of_stored = sampled(vec![("x".into(), 2, three)]);
        [of_stored, sampled(vec![])].map(|sampled| {
            let found = pairs([1, 2, last], size);
            let mut tally = Tally::default();
            difference_at_places(&summary, &sampled, &inputs, &found, how, &mut tally).is_some()
        })
    };
    assert_eq!(differs(1, 9, &of_pairs()), [false, false]);
    assert_eq!(differs(2, 9, &of_pairs()), [true, true]);
    assert_eq!(differs(1, 9, &Comparison::default()), [true, true]);
    assert_eq!(differs(2, 3, &of_pairs()), [false, false]);
}
