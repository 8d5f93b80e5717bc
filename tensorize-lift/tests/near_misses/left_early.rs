//! Kernels that leave loops early, and what is made of them: it does the same, or leaves the call to the original.

use super::kernel;
use tensorize_ir::inputs::Rng;
use tensorize_ir::loopir::interp::{Program, Stop};
use tensorize_ir::loopir::{Function, Param};
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::Scalar;
use tensorize_lift::left_to_the_original;

fn inputs(f: &Function, random: &mut Rng) -> Inputs {
    let mut inputs = Inputs::default();
    for p in &f.params {
        let mut small = || i128::from(random.below(9)) - 2;
        inputs = match p {
            Param::Scalar { name, ty } => inputs.scalar(name.clone(), Scalar::int(*ty, small())),
            Param::Array { name, elem, .. } => {
                let data = (0..64).map(|_| Scalar::int(*elem, small())).collect();
                inputs.array(name.clone(), Buffer::new(*elem, data))
            }
        };
    }
    inputs
}

#[test]
fn what_leaves_no_loop_early_is_done_as_before() {
    for source in [
        "int f(const int *x, int *y, int n) { for (int i = 0; i < n; i++) { if (x[i] < 0) return -1; y[i] = x[i]; } return 0; }",
        "int f(const int *x, int *y, int n, int m) { if (m < 0) return 2; for (int i = 0; i < n; i++) { y[i] = 1; if (x[i] == m) return i; } for (int i = 0; i < m; i++) { if (x[i] > 5) return 9; y[i] += x[i]; } return m; }",
        "void f(const int *x, int *y, int n) { for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { if (x[j] < 0) break; y[i] += x[j]; } if (y[i] > 9) break; } y[0]++; }",
        "int f(const int *x, int *y, int n) { int s = 0; for (int i = 0; i < n; i++) { if (x[i] == 0) continue; if (x[i] == 6) goto out; s += x[i]; y[i] = s; } s *= 2; out: y[0] = s; return s; }",
        "int f(const int *x, int *y, int n) { _Bool found = 0; for (int i = 0; i < n && !found; i++) { y[i] = 3; found = x[i] == 4; } return found; }",
        "int f(const int *x, int *y, int n, int m) { _Bool stop = 0; if (m > 2) y[1] = 1; else stop = 1; for (int i = 0; i < n && !stop; i++) { if (x[i] < 0) stop = 1; else y[i] = x[i]; } return stop; }",
        "int f(const int *x, int *y, int n, _Bool any) { for (int i = 0; i < n && !any; i++) { if (x[i] < 0) any = 1; else y[i] = x[i]; } return any; }",
        "int f(const int *x, int n) { _Bool any = 0; for (int i = 0; i < n; i++) if (x[i] == 4) any = 1; return any; }",
    ] {
        let f = kernel(source);
        let Some(left) = left_to_the_original(&f) else {
            let why = "only flags that end a loop, and by constants";
            assert!(
                source.contains("found") || source.contains("any"),
                "{why}: {source}"
            );
            continue;
        };
        let [was, is] = [&f, &left].map(|f| Program::new(f).unwrap());
        let mut random = Rng::new(5);
        let (mut same, mut trapped) = (0, 0);
        for _ in 0..400 {
            let mut a = inputs(&f, &mut random);
            let mut b = a.clone();
            let (x, y) = (was.run(&mut a, 10_000), is.run(&mut b, 10_000));
            if matches!(y, Err(Stop::Trap)) {
                trapped += 1;
                continue;
            }
            assert_eq!(x, y, "{source}\n{left}");
            assert!(a == b, "{source}\n{left}");
            same += 1;
        }
        assert!(
            same > 20 && trapped > 20,
            "{source}: {same}, {trapped}\n{left}"
        );
    }
}
