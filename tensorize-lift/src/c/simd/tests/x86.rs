//! The table of x86.

use super::*;

struct X86;

impl Machine for X86 {
    const HEADER: &'static str = "immintrin.h";
    const COMPILER: &'static [&'static str] = &["gcc"];
    const RUNNER: Option<&'static str> = None;

    fn missing() -> Option<&'static str> {
        let fits = cfg!(target_arch = "x86_64") && machine_has("avx2,fma");
        (!fits).then_some("x86 with AVX2")
    }

    fn has(i: &Intrinsic) -> bool {
        !i.neon
    }

    fn left_out(i: &Intrinsic) -> bool {
        // What is undefined has no result.
        const UNDEFINED: [&str; 7] = [
            "_undefined_",
            "_castps128",
            "_castpd128",
            "_castsi128",
            "_castps256_ps512",
            "_castpd256_pd512",
            "_castsi256_si512",
        ];
        UNDEFINED.iter().any(|w| i.name.contains(w)) || is_of_512(i) && !machine_has(AVX512)
    }

    fn constants(i: &Intrinsic) -> Vec<i32> {
        let name = i.name.as_str();
        let has = |words: &[&str]| words.iter().any(|w| name.contains(w));
        match name {
            _ if has(&["_cmp_epi", "_cmp_epu"]) => (0..8).collect(),
            _ if has(&["_cmp_"]) => (0..32).collect(),
            _ if has(&["permute2"]) => vec![0x20, 0x31, 0x13, 0x08, 0x80],
            _ if has(&[
                "m256_extractf",
                "m256_extracti",
                "64x4",
                "32x8",
                "insertf128",
            ]) =>
            {
                vec![0, 1]
            }
            _ if has(&["inserti128", "m_extract_epi64", "m_insert_epi64"]) => vec![0, 1],
            _ if has(&["round"]) => vec![0, 1, 2, 3, 8, 9, 10, 11],
            _ if has(&["alignr"]) => vec![0, 1, 5, 15, 16, 20],
            _ if has(&["slli", "srli", "srai"]) => vec![0, 1, 7, 15, 31],
            _ if has(&[
                "shuffle_epi32",
                "shuffle_ps",
                "shufflelo",
                "shufflehi",
                "permute4x64",
                "dp_p",
                "insert_ps",
                "512_shuffle",
            ]) =>
            {
                vec![0, 27, 228, 177, 255]
            }
            _ => vec![0, 1, 2, 3],
        }
    }

    fn attribute(i: &Intrinsic) -> String {
        let features = if is_of_512(i) { AVX512 } else { "avx2,fma" };
        format!("__attribute__((target(\"{features}\"))) ")
    }

    fn load(t: Type, array: &str) -> String {
        let (p, e, width) = register(t);
        match e {
            ScalarType::F32 => format!("{p}_loadu_ps({array})"),
            ScalarType::F64 => format!("{p}_loadu_pd({array})"),
            _ => format!("{p}_loadu_si{width}((__m{width}i const *){array})"),
        }
    }

    fn store(t: Type, value: &str) -> String {
        let (p, e, width) = register(t);
        match e {
            ScalarType::F32 => format!("{p}_storeu_ps(out, {value});"),
            ScalarType::F64 => format!("{p}_storeu_pd(out, {value});"),
            _ => format!("{p}_storeu_si{width}((__m{width}i *)out, {value});"),
        }
    }
}

const AVX512: &str = "avx512f,avx512bw,avx512dq,avx512vl";

/// Masks are of AVX-512, and so are some names, whatever the width.
fn is_of_512(i: &Intrinsic) -> bool {
    const NAMES: &[&str] = &[
        "_load_epi",
        "_loadu_epi",
        "_store_epi",
        "_storeu_epi",
        "_mullo_epi64",
        "_min_epi64",
        "_min_epu64",
        "_max_epi64",
        "_max_epu64",
        "_abs_epi64",
        "_srai_epi64",
        "_sllv_epi16",
        "_srlv_epi16",
        "_srav_epi16",
        "_srav_epi64",
        "_roundscale_",
        "_cvtepu32_p",
        "_cvtepi64_",
        "_cvtepu64_p",
        "_cvttps_epu32",
        "_cvtps_epu32",
        "_cvtepi32_epi16",
        "_cvtepi32_epi8",
        "_cvtepi16_epi8",
    ];
    let types = i.params.iter().map(|(t, _)| *t).chain(i.result);
    i.name.starts_with("_mm512")
        || NAMES.iter().any(|w| i.name.contains(w))
        || types.into_iter().any(|t| matches!(t, Type::Mask(_)))
}

/// What the names of the functions for a register begin with, its lanes, and its bits.
fn register(t: Type) -> (String, ScalarType, usize) {
    let (e, width) = match t {
        Type::Vector(e, n) => (e, n * e.bits() as usize),
        Type::Bits(width) => (ScalarType::I32, width),
        t => panic!("{t:?} is no register"),
    };
    match width {
        128 => ("_mm".into(), e, width),
        _ => (format!("_mm{width}"), e, width),
    }
}

/// Whether the machine has these features, as Linux names them.
fn machine_has(features: &str) -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    features
        .split(',')
        .all(|f| text.split_whitespace().any(|w| w == f))
}

#[test]
fn the_processor_agrees_with_the_table() {
    the_processor_agrees::<X86>();
}

#[test]
fn a_wrong_line_is_found() {
    wrong_lines_are_found::<X86>();
}
