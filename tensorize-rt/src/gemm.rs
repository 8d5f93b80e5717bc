//! Products of matrices for generated code: what its C calls under the names `tensorize_scaled_gemm_f32` and `_f64`.
//!
//! (The names have changed with the parameters: code that was generated before finds no library, and runs its loops.)
//! The work is done by `matrixmultiply`, and with the feature `fast-gemm` by the crates of `gemm` where there is enough of it.
//! Without the feature `gemm` both say no, and the loops in the generated code run. One core each: generated code shares the
//! rows among its threads.

#![allow(unsafe_code)]

/// So many products are done sooner by loops than it takes to get a library going.
#[cfg(feature = "gemm")]
const WORTH_IT: f64 = 4096.0;

/// Fewer rows than this are done sooner by loops over the rows of the other matrix: the library works on blocks of 8.
#[cfg(feature = "gemm")]
const TOO_FEW_ROWS: i64 = 4;

/// `gemm` has kernels for blocks of 16 to 64 rows; what is thinner than the least of them is not its business.
#[cfg(feature = "fast-gemm")]
const THICK: i64 = 16;

macro_rules! gemm {
    ($name:ident, $type_name:ident, $ty:ty, $gemm:path, $fast:path) => {
        /// The type of the function below.
        pub type $type_name = unsafe extern "C" fn(
            i64,
            i64,
            i64,
            *const $ty,
            i64,
            i64,
            *const $ty,
            i64,
            i64,
            *mut $ty,
            i64,
            i64,
            $ty,
            $ty,
        ) -> bool;

        /// `result = alpha · left · right + beta · result`, of `rows` x `depth` and `depth` x `columns` elements. What
        /// stands in `result` is not read if `beta` is zero. After each matrix come the steps, in elements, to its next
        /// row and column.
        ///
        /// False, with nothing touched, if the caller shall do it itself.
        ///
        /// # Safety
        ///
        /// Every element that the sizes and steps lead to is there, none of `result` is also in another matrix or
        /// is led to twice, and no other thread touches it.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            rows: i64,
            columns: i64,
            depth: i64,
            left: *const $ty,
            left_row: i64,
            left_column: i64,
            right: *const $ty,
            right_row: i64,
            right_column: i64,
            result: *mut $ty,
            result_row: i64,
            result_column: i64,
            alpha: $ty,
            beta: $ty,
        ) -> bool {
            #[cfg(feature = "gemm")]
            {
                let sizes = [rows, columns, depth];
                if sizes.iter().any(|&n| n <= 0)
                    || rows < TOO_FEW_ROWS
                    || rows as f64 * columns as f64 * (depth as f64) < WORTH_IT
                {
                    return false;
                }
                let [rows, columns, depth] = sizes.map(|n| n as usize);
                #[cfg(feature = "fast-gemm")]
                {
                    let steps = [
                        [result_row, result_column],
                        [left_row, left_column],
                        [right_row, right_column],
                    ];
                    let forward = steps.iter().flatten().all(|&step| step >= 0);
                    if forward && sizes.iter().all(|&n| n >= THICK) {
                        let [result_step, left_step, right_step] =
                            steps.map(|[row, column]| [column as isize, row as isize]);
                        // It goes through the result by columns. Where rows lie closer together, the product is
                        // transposed: both factors are, and change places.
                        let by_rows = result_column < result_row;
                        let turned = |step: [isize; 2]| match by_rows {
                            true => [step[1], step[0]],
                            false => step,
                        };
                        let [result_step, left_step, right_step] =
                            [result_step, left_step, right_step].map(turned);
                        let (rows, columns) = if by_rows {
                            (columns, rows)
                        } else {
                            (rows, columns)
                        };
                        let (first, first_step, second, second_step) = match by_rows {
                            true => (right, right_step, left, left_step),
                            false => (left, left_step, right, right_step),
                        };
                        // SAFETY: the caller says that all of it may be touched.
                        unsafe {
                            $fast()(
                                rows,
                                columns,
                                depth,
                                result,
                                result_step[0],
                                result_step[1],
                                beta != 0.0,
                                first,
                                first_step[0],
                                first_step[1],
                                second,
                                second_step[0],
                                second_step[1],
                                beta,
                                alpha,
                                false,
                                false,
                                false,
                                gemm_common::Parallelism::None,
                            );
                        }
                        return true;
                    }
                }
                // SAFETY: the caller says that all of it may be touched. Steps of addresses in memory fit an `isize`.
                unsafe {
                    $gemm(
                        rows,
                        depth,
                        columns,
                        alpha,
                        left,
                        left_row as isize,
                        left_column as isize,
                        right,
                        right_row as isize,
                        right_column as isize,
                        beta,
                        result,
                        result_row as isize,
                        result_column as isize,
                    );
                }
                true
            }
            #[cfg(not(feature = "gemm"))]
            {
                let _ = (rows, columns, depth, left, left_row, left_column);
                let _ = (right, right_row, right_column);
                let _ = (result, result_row, result_column, alpha, beta);
                false
            }
        }
    };
}

gemm!(
    tensorize_scaled_gemm_f32,
    OfF32,
    f32,
    matrixmultiply::sgemm,
    gemm_f32::gemm::f32::get_gemm_fn
);
gemm!(
    tensorize_scaled_gemm_f64,
    OfF64,
    f64,
    matrixmultiply::dgemm,
    gemm_f64::gemm::f64::get_gemm_fn
);

#[cfg(all(test, feature = "gemm"))]
mod tests {
    use super::*;

    /// Numbers that floats add and multiply without rounding, so that the order does not matter.
    fn numbers(count: usize) -> Vec<f64> {
        (0..count)
            .map(|i| ((i * 37 + 11) % 17) as f64 - 8.0)
            .collect()
    }

    #[test]
    fn all_layouts_against_three_loops() {
        for (m, n, k) in [
            (4, 64, 80),
            (17, 33, 29),
            (64, 1, 70),
            (40, 40, 40),
            (130, 9, 11),
        ] {
            let (a, b) = (numbers(2 * m * k), numbers(3 * k * n));
            // Rows first or columns first, and every second or third element.
            for (left, right, result) in [
                ((k, 1), (n, 1), (n, 1)),
                ((1, m), (1, k), (1, m)),
                ((2 * k, 2), (1, 3 * k), (n, 1)),
            ] {
                for (alpha, beta) in [(1.0, 0.0), (1.0, 1.0), (2.0, 0.0), (-3.0, 0.5)] {
                    let before = numbers(m * n);
                    let mut expected = before.clone();
                    for i in 0..m {
                        for j in 0..n {
                            let at = i * result.0 + j * result.1;
                            let mut sum = 0.0;
                            for r in 0..k {
                                sum += a[i * left.0 + r * left.1] * b[r * right.0 + j * right.1];
                            }
                            expected[at] = alpha * sum + beta * before[at];
                        }
                    }
                    let mut got = before.clone();
                    let mut narrow: Vec<f32> = before.iter().map(|&x| x as f32).collect();
                    let as_f32 = |v: &[f64]| v.iter().map(|&x| x as f32).collect::<Vec<f32>>();
                    let (a32, b32) = (as_f32(&a), as_f32(&b));
                    let step = |n: usize| n as i64;
                    // SAFETY: the matrices are as long as sizes and steps say.
                    let done = unsafe {
                        let wide = tensorize_scaled_gemm_f64(
                            step(m),
                            step(n),
                            step(k),
                            a.as_ptr(),
                            step(left.0),
                            step(left.1),
                            b.as_ptr(),
                            step(right.0),
                            step(right.1),
                            got.as_mut_ptr(),
                            step(result.0),
                            step(result.1),
                            alpha,
                            beta,
                        );
                        wide && tensorize_scaled_gemm_f32(
                            step(m),
                            step(n),
                            step(k),
                            a32.as_ptr(),
                            step(left.0),
                            step(left.1),
                            b32.as_ptr(),
                            step(right.0),
                            step(right.1),
                            narrow.as_mut_ptr(),
                            step(result.0),
                            step(result.1),
                            alpha as f32,
                            beta as f32,
                        )
                    };
                    assert!(done, "{m} x {n} x {k}");
                    assert_eq!(
                        got, expected,
                        "{m} x {n} x {k}, {left:?} {right:?} {result:?}"
                    );
                    assert_eq!(narrow, as_f32(&expected));
                }
            }
        }
    }

    #[test]
    fn what_is_empty_or_small_is_left_to_the_caller() {
        let mut c = [7.0f32];
        for (m, n, k) in [
            (0, 1000, 1000),
            (1000, -3, 1000),
            (1000, 1000, 0),
            (4, 4, 4),
            (3, 100, 100),
        ] {
            let nowhere = std::ptr::NonNull::<f32>::dangling().as_ptr();
            // SAFETY: nothing is touched.
            let done = unsafe {
                tensorize_scaled_gemm_f32(
                    m,
                    n,
                    k,
                    nowhere,
                    1,
                    1,
                    nowhere,
                    1,
                    1,
                    c.as_mut_ptr(),
                    1,
                    1,
                    1.0,
                    0.0,
                )
            };
            assert!(!done);
        }
        assert_eq!(c, [7.0]);
    }
}
