use super::*;
use crate::element::{Elem, Fold};
use crate::guard::Extent;
use crate::index::Idx;
use crate::op::{BinOp, CmpOp};
use std::sync::Arc;

fn spec(guards: &[Guard]) -> Spec {
    let params = [
        Param::Scalar {
            name: "n".into(),
            ty: ScalarType::I32,
        },
        Param::Scalar {
            name: "m".into(),
            ty: ScalarType::I32,
        },
        Param::Scalar {
            name: "a".into(),
            ty: ScalarType::F32,
        },
        Param::Array {
            name: "x".into(),
            elem: ScalarType::I32,
            is_const: true,
            restrict: false,
        },
        Param::Array {
            name: "unused".into(),
            elem: ScalarType::F32,
            is_const: true,
            restrict: false,
        },
    ];
    let extent = Extent {
        array: "x".into(),
        lo: Idx::constant(-1),
        hi: &Idx::sym("n") * &Idx::sym("m"),
    };
    let footprint = Footprint {
        extent,
        reads: true,
        writes: false,
        reads_depend_on_data: false,
        writes_depend_on_data: false,
    };
    Spec::known(&params, guards, &[footprint])
}

fn at_least(idx: Idx, least: i128) -> Guard {
    Guard::NonNegative(&idx - &Idx::constant(least))
}

#[test]
fn random_inputs_meet_guards_and_footprints() {
    let (n, m) = (Idx::sym("n"), Idx::sym("m"));
    let guards = [
        at_least(n.clone(), 16),
        at_least(&n - &m, 0),
        at_least(&m - &n, 0),
    ];
    let spec = spec(&guards);
    let cases: Vec<_> = spec.sample(1, 50, Palette::All).collect();
    assert_eq!(cases.len(), 50);
    for Case { inputs, .. } in &cases {
        let n = inputs.size("n").unwrap();
        assert!(n >= 16 && inputs.size("m") == Some(n));
        let x = &inputs.arrays["x"];
        assert_eq!((x.origin, x.data.len() as i128), (1, n * n + 1));
        assert!(inputs.arrays["unused"].data.is_empty());
    }
    assert_eq!(cases, spec.sample(1, 50, Palette::All).collect::<Vec<_>>());
    assert_ne!(cases, spec.sample(2, 50, Palette::All).collect::<Vec<_>>());
}

#[test]
fn guards_that_nothing_meets_give_no_input() {
    let n = Idx::sym("n");
    let spec = spec(&[at_least(n.clone(), 1), at_least(-&n, 0)]);
    assert_eq!(spec.sample(1, 5, Palette::All).count(), 0);
}

#[test]
fn edges_and_tame_values_both_occur() {
    let values = |palette: Palette| -> Vec<f64> {
        (0..60)
            .flat_map(|seed| (0..16).map(move |i| (seed, i)))
            .map(|(seed, i)| palette.element(seed, "x", ScalarType::F32, i).as_f64())
            .collect()
    };
    let all = values(Palette::All);
    assert!(all.iter().any(|v| v.is_nan()) && all.iter().any(|v| v.is_infinite()));
    assert!(all.iter().any(|v| *v == 0.0 && v.is_sign_negative()));
    assert!(
        all.iter()
            .any(|v| v.is_subnormal() || *v == f64::from(1e-45f32))
    );
    assert!(all.iter().filter(|v| v.abs() <= 2.0).count() > all.len() / 2);
    assert!(values(Palette::Tame).iter().all(|v| v.abs() <= 5.0));
    let bytes: BTreeSet<_> = (0..4000)
        .map(|s| Palette::All.element(s, "x", ScalarType::U8, 0).as_int())
        .collect();
    assert!(bytes.len() > 200, "{}", bytes.len());
}

#[test]
fn exhaustive_runs_try_everything_small() {
    let spec = spec(&[at_least(Idx::sym("n"), 0), at_least(Idx::sym("m"), 0)]);
    let two = |ty| vec![Scalar::int(ty, 0), Scalar::int(ty, 1)];
    let mut run = spec.exhaustive(Limits {
        max_size: 2,
        values: two,
        ..Limits::default()
    });
    let cases: Vec<_> = run.by_ref().map(|c| c.inputs).collect();
    assert!(run.is_complete());
    // Sizes 0..=2 twice, two values of a, and 2^(n·m + 1) contents.
    let expected: i128 = (0..3)
        .flat_map(|n| (0..3).map(move |m| 2 * (1 << (n * m + 1))))
        .sum();
    assert_eq!(cases.len() as i128, expected);
    assert!((1..cases.len()).all(|i| !cases[..i].contains(&cases[i])));
    let mut run = spec.exhaustive(Limits {
        max_size: 2,
        per_size: 10,
        ..Limits::default()
    });
    assert!(run.by_ref().count() > 100);
    assert!(!run.is_complete());
}

#[test]
fn arrays_of_unknown_length_get_several_contents() {
    let spec = Spec::guarded(spec(&[]).params(), &[at_least(Idx::sym("n"), 0)]);
    let one = |ty| vec![Scalar::int(ty, 0)];
    let mut run = spec.exhaustive(Limits {
        max_size: 1,
        values: one,
        ..Limits::default()
    });
    let seeds: BTreeSet<_> = run.by_ref().map(|c| c.seed).collect();
    // n is 0 or 1; m is -1, 0 or 1.
    assert_eq!(seeds.len(), 2 * 3 * 24);
    assert!(!run.is_complete());
}

/// The end of a row that the data says may be any number.
#[test]
fn an_extent_that_takes_too_many_steps_gives_no_input() {
    let array = |name: &str, elem| Param::Array {
        name: name.into(),
        elem,
        is_const: true,
        restrict: false,
    };
    let params = [array("end", ScalarType::U64), array("x", ScalarType::F32)];
    let touched = |array: &str, hi: Idx| Footprint {
        extent: Extent {
            array: array.into(),
            lo: Idx::default(),
            hi,
        },
        reads: true,
        writes: false,
        reads_depend_on_data: false,
        writes_depend_on_data: false,
    };
    let i64 = ScalarType::I64;
    let far = Arc::new(Elem::Acc("far".into(), i64));
    let here = Elem::of_idx(i64, &Idx::sym("k") + &Idx::constant(1));
    let furthest = Elem::Fold(Arc::new(Fold::new(
        "far".into(),
        "k".into(),
        Idx::value(Elem::read("end", ScalarType::U64, Idx::default())),
        Elem::constant(Scalar::zero(i64)),
        Elem::binary(BinOp::Maximum, far, here),
    )));
    let furthest = Idx::value(Arc::new(furthest));
    let touched = [touched("end", Idx::constant(1)), touched("x", furthest)];
    let spec = Spec::known(&params, &[], &touched);
    let made = |end: u64| {
        spec.with_arrays(BTreeMap::new(), &mut |_, ty, _| match ty {
            ScalarType::U64 => Scalar::int(ty, end.into()),
            _ => Scalar::zero(ty),
        })
    };
    assert_eq!(made(3).unwrap().arrays["x"].data.len(), 3);
    assert_eq!(made(u64::MAX), None);
}

/// What a guard asks of the data it asks of a whole input as of each element.
#[test]
fn guards_on_data_refuse_inputs() {
    let first = Elem::convert(
        ScalarType::I64,
        Elem::read("x", ScalarType::I32, Idx::default()),
    );
    let spec = spec(&[at_least(Idx::value(first), 3)]);
    let made = |value: i128| {
        let sizes =
            [("n", 1), ("m", 1)].map(|(name, v)| (name.into(), Scalar::int(ScalarType::I32, v)));
        let mut scalars = BTreeMap::from(sizes);
        scalars.insert("a".into(), Scalar::f32(0.0));
        spec.with_arrays(scalars, &mut |_, ty, _| Scalar::int(ty, value))
    };
    assert_eq!(made(2), None);
    let admitted = made(3).unwrap();
    assert!(spec.admits_memory(&admitted));
    let read = |array: &Sym, at: i128| admitted.arrays.get(array)?.get(at);
    assert!(spec.admits_data(&admitted.scalars, &read));
    // Of what is not there, nothing holds.
    let mut without = admitted.clone();
    without.arrays.remove("x");
    assert!(!spec.admits_memory(&without));
}

/// `if (key[i] >= groups) throw …` for each byte: most arrays of any bytes that meet it are nearly empty.
#[test]
fn bytes_that_a_guard_limits_come_in_long_arrays_too() {
    let array = Param::Array {
        name: "key".into(),
        elem: ScalarType::U8,
        is_const: true,
        restrict: false,
    };
    let number = |name: &str| Param::Scalar {
        name: name.into(),
        ty: ScalarType::I32,
    };
    let params = [array, number("n"), number("groups")];
    let ty = ScalarType::I64;
    let key = Elem::convert(ty, Elem::read("key", ScalarType::U8, Idx::sym("k")));
    let groups = Elem::of_idx(ty, Idx::sym("groups"));
    let ends = Elem::Fold(Arc::new(Fold::new(
        "ends".into(),
        "k".into(),
        Idx::sym("n"),
        Elem::of_idx(ty, Idx::default()),
        Elem::select(
            Elem::compare(CmpOp::Lt, key, groups),
            Arc::new(Elem::Acc("ends".into(), ty)),
            Elem::of_idx(ty, Idx::constant(-1)),
        ),
    )));
    let guards = [
        at_least(Idx::sym("n"), 0),
        at_least(Idx::value(Arc::new(ends)), 0),
    ];
    let footprint = Footprint {
        extent: Extent {
            array: "key".into(),
            lo: Idx::default(),
            hi: Idx::sym("n"),
        },
        reads: true,
        writes: false,
        reads_depend_on_data: false,
        writes_depend_on_data: false,
    };
    let spec = Spec::known(&params, &guards, &[footprint]);
    let lengths = |Case { inputs, .. }: Case| inputs.arrays["key"].data.len();
    let long = spec.sample(1, 200, Palette::All).map(lengths);
    let long = long.filter(|n| *n > 16).count();
    assert!(long >= 16, "{long} of 200");
}

/// `x[(int)a]`, `if (0 < a && a < n)`: by chance, hardly any number is a place.
#[test]
fn floats_that_name_places_name_some_that_are_there() {
    let mut spec = spec(&[]);
    let ty = ScalarType::F32;
    let a: ElemRef = Arc::new(Elem::Param("a".into(), ty));
    let place = Elem::convert(ScalarType::I64, a.clone());
    let (no, last) = (Elem::constant(Scalar::f32(2.0)), Idx::sym("n"));
    let last = Elem::convert(ty, Elem::of_idx(ScalarType::I64, last));
    let end = Elem::binary(
        BinOp::Add,
        place,
        Elem::of_idx(ScalarType::I64, Idx::constant(1)),
    );
    let nothing = Elem::of_idx(ScalarType::I64, Idx::default());
    let (above, below) = (
        Elem::compare(CmpOp::Lt, no, a.clone()),
        Elem::compare(CmpOp::Lt, a, last),
    );
    let inside = Elem::select(below, end, nothing.clone());
    let extent = Extent {
        array: "x".into(),
        lo: Idx::default(),
        hi: Idx::value(Elem::select(above, inside, nothing)),
    };
    let footprint = Footprint {
        extent,
        reads: true,
        writes: false,
        reads_depend_on_data: true,
        writes_depend_on_data: false,
    };
    spec = Spec::known(&spec.params, &[], std::slice::from_ref(&footprint));
    for palette in [Palette::All, Palette::Tame] {
        let cases: Vec<Case> = spec.sample(3, 60, palette).collect();
        assert_eq!(cases.len(), 60);
        let has_elements = |c: &&Case| !c.inputs.arrays["x"].data.is_empty();
        let with = cases.iter().filter(has_elements).count();
        assert!((30..60).contains(&with), "{with} of 60");
    }
    // Where no input has any, those without are as good.
    let none = [at_least(-&Idx::sym("n"), 0)];
    let spec = Spec::known(&spec.params, &none, &[footprint]);
    assert_eq!(spec.sample(3, 60, Palette::All).count(), 60);
}
