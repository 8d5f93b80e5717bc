//! The loops with a counter do what the loops do, or trap.

use super::bounded;
use tensorize_ir::loopir::Function;
use tensorize_ir::loopir::interp::{Stop, run};
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};

const I32: ScalarType = ScalarType::I32;

/// Those that end by themselves, with how often some input traps.
const KERNELS: &[(&str, bool)] = &[
    (
        "i32 f(i32 *x, i32 n, i32 m) {
  i32 k = 0;
  i32 i = 0;
  while #0 (i < n && k < m) {
    if (x[i] > 3) {
      x[k] = x[i];
      k = k + 1;
    }
    i = i + 1;
  }
  return k;
}",
        false,
    ),
    // What it was when the loop ended is looked at.
    (
        "i32 f(i32 *x, i32 n, i32 m) {
  i1 left = 0:i1;
  i32 i = 0;
  while #0 (!left && i < n) {
    if (x[i] > m) {
      left = 1:i1;
    }
    if (!left) {
      i = i + 1;
    }
  }
  return i;
}",
        false,
    ),
    // What is at the counter says whether it goes on, and may say so again further on.
    (
        "i32 f(i32 *x, i32 n, i32 m) {
  i32 s = 0;
  i32 i = 0;
  i1 left = 0:i1;
  while #0 (!left && i < n && x[i] < m) {
    s = s * 2 + x[i];
    if (s > 20) {
      left = 1:i1;
    }
    i = i + 1;
  }
  return s;
}",
        false,
    ),
    // A counter that is somewhere else when it ends.
    (
        "i32 f(i32 *x, i32 n, i32 m) {
  i32 s = 0;
  i32 i = 0;
  while #0 (i < n) {
    s = s + x[i];
    if (s > m) {
      i = n;
    } else {
      i = i + 1;
    }
  }
  return s;
}",
        false,
    ),
    // Two that come closer, and what goes on with one of them.
    (
        "i32 f(i32 *x, i32 n, i32 m) {
  i32 s = 0;
  i32 i = 0;
  i32 j = n - 1;
  while #0 (i < j) {
    if (x[i] < x[j]) {
      i = i + 1;
    } else {
      s = s + 1;
      j = j - 1;
    }
  }
  while #1 (i < m) {
    s = s + x[i] * i;
    i = i + 1;
  }
  return s + i;
}",
        true,
    ),
    // A parameter that is counted down, and steps that the data says.
    (
        "i32 f(i32 *x, i32 n, i32 m) {
  i32 s = 0;
  while #0 (n > 0) {
    s = s * 2 + x[n - 1];
    n = n - (x[n - 1] & 3);
  }
  return s;
}",
        true,
    ),
    // One that may go back.
    (
        "i32 f(i32 *x, i32 n, i32 m) {
  i32 s = 0;
  i32 i = 0;
  while #0 (i < n && s != 6) {
    s = s + 1;
    i = x[i] > 4 ? i - 1 : i + 1;
    if (i < 0) {
      i = 0;
    }
  }
  return s * 10 + i;
}",
        true,
    ),
    // It goes on from further back than it began.
    (
        "i32 f(i32 *x, i32 n, i32 m) {
  i32 s = 0;
  i32 i = 2;
  while #0 (i > 0 && s < x[0] - 3) {
    s = s + 1;
    i = i - 1;
  }
  while #1 (i < n) {
    s = s * 2 + i;
    i = i + 1;
  }
  return s;
}",
        true,
    ),
    // Whose turn it was when the loop ended.
    (
        "i32 f(i32 *x, i32 n, i32 m) {
  i32 s = 0;
  i32 turn = 0;
  i1 left = 0:i1;
  i32 i = 0;
  while #0 (!left && i < n) {
    s = s + x[i] * turn;
    if (s > m) {
      left = 1:i1;
    }
    turn = 1 - turn;
    if (!left) {
      i = i + 1;
    }
  }
  return s * 2 + turn;
}",
        false,
    ),
    // Whose turn it is goes on, whatever happens.
    (
        "i32 f(i32 *x, i32 n, i32 m) {
  i32 s = 0;
  i32 turn = 0;
  i1 left = 0:i1;
  i32 i = 0;
  while #0 (!left && i < n) {
    if (turn == 0) {
      s = s + x[i];
    } else {
      s = s - 2 * x[i];
    }
    if (s > m) {
      left = 1:i1;
    }
    turn = 1 - turn;
    if (!left) {
      i = i + 1;
    }
  }
  return s;
}",
        false,
    ),
];

#[test]
fn loops_with_a_counter_do_the_same_or_trap() {
    let mut random = 1u64;
    let mut number = |below: u64| {
        random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (random >> 33) % below
    };
    for (text, may_trap) in KERNELS {
        let kernel: Function = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        let counted = bounded(&kernel).unwrap_or_else(|| panic!("none: {text}"));
        let (mut same, mut traps) = (0, 0);
        for _ in 0..400 {
            let n = number(9) as i128 - 1;
            let m = (number(9) as i128 - 1).min(n);
            let elements = (0..10).map(|_| Scalar::int(I32, number(7) as i128));
            let inputs = Inputs::default()
                .scalar("n", Scalar::int(I32, n))
                .scalar("m", Scalar::int(I32, m))
                .array("x", Buffer::new(I32, elements.collect()));
            let of = |f: &Function| {
                let mut inputs = inputs.clone();
                run(f, &mut inputs, 10_000).map(|returned| (inputs.arrays, returned))
            };
            match (of(&kernel), of(&counted)) {
                (_, Err(Stop::Trap)) => traps += 1,
                // It goes on for ever.
                (Err(_), found) => assert!(found.is_err(), "{text}\n{inputs:?}"),
                (Ok(expected), found) => {
                    assert_eq!(found.ok(), Some(expected), "{counted}\n{inputs:?}");
                    same += 1;
                }
            }
        }
        assert!(
            same > 100 && (traps > 0) == *may_trap,
            "{text}: {same}, {traps}"
        );
    }
}

/// "Without a limit": what is left of it is no number of rounds.
#[test]
fn sizes_that_do_not_fit_trap() {
    let text = "ui64 f(i32 *x, ui64 n) {
  i1 left = 0:i1;
  ui64 i = 0;
  while #0 (!left && i < n) {
    if (x[(i64)i] == 0) {
      left = 1:i1;
    }
    if (!left) {
      i = i + 1;
    }
  }
  return i;
}";
    let kernel: Function = text.parse().unwrap_or_else(|e| panic!("{e}"));
    let counted = bounded(&kernel).unwrap();
    for (n, fits) in [(3, true), (u64::MAX as i128, false)] {
        let elements = [4, 5, 0].map(|x| Scalar::int(I32, x));
        let mut inputs = Inputs::default()
            .scalar("n", Scalar::int(ScalarType::U64, n))
            .array("x", Buffer::new(I32, elements.to_vec()));
        let found = run(&counted, &mut inputs, 1000);
        match fits {
            true => assert_eq!(found, Ok(Some(Scalar::int(ScalarType::U64, 2)))),
            false => assert_eq!(found, Err(Stop::Trap)),
        }
    }
}

#[test]
fn what_has_a_counter_is_left_alone() {
    let text = "void f(i32 *x, i32 n) {
  i32 i = 0;
  while #0 (i < n) {
    x[i] = 0;
    i = i + 1;
  }
}";
    let kernel: Function = text.parse().unwrap();
    assert_eq!(bounded(&kernel), None);
}
