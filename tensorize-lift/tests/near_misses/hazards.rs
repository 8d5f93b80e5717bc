//! What generated code may divide and shift by, where C leaves it undefined: what the original does as well.

use super::{Original, kernel};
use tensorize_prove::Verdict;

/// Before a loop, in some of its rounds, in the outer loop of two, in the inner one.
const ONCE: &str = "int r = 1 << k; for (int i = 0; i < n; i++) x[i] += r;";
const MAYBE: &str = "for (int i = 0; i < n; i++) if (s[i] > 0) x[i] += 1 << s[i];";
const ROWS: &str = "for (int i = 0; i < n; i++) { int r = 1 << s[i]; for (int j = 0; j < m; j++) x[i * m + j] += r; }";
const EACH: &str =
    "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i * m + j] += 1 << s[i];";

const TABLE: &str = "int t[256]; for (int v = 0; v < 256; v++) t[v] = k >> v; for (int i = 0; i < n; i++) x[i] = t[b[i]];";
const SHORT_TABLE: &str = "int t[256]; t[255] = 0; for (int v = 0; v < 255; v++) t[v] = k >> v; for (int i = 0; i < n; i++) x[i] = t[b[i]];";

#[test]
fn code_is_undefined_only_where_the_original_is() {
    let cases = [
        (ONCE, "for (int i = 0; i < n; i++) x[i] += 1 << k;", true),
        (
            ONCE,
            "for (int i = 0; i < n; i++) x[i] += (1 << k) + 0 * (1 << m);",
            false,
        ),
        // Without a round, the original shifts nothing.
        ("for (int i = 0; i < n; i++) x[i] += 1 << k;", ONCE, false),
        (MAYBE, MAYBE, true),
        (
            MAYBE,
            "for (int i = 0; i < n; i++) { int r = 1 << s[i]; if (s[i] > 0) x[i] += r; }",
            false,
        ),
        (ROWS, EACH, true),
        (
            ROWS,
            "for (int j = 0; j < m; j++) for (int i = 0; i < n; i++) x[i * m + j] += 1 << s[i];",
            true,
        ),
        (
            ROWS,
            "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) x[i * m + j] += (1 << s[i]) + 0 * (1 << j);",
            false,
        ),
        (EACH, ROWS, false),
        // A round more.
        (
            "for (int i = 0; i < n - 1; i++) x[i] += 1 << i;",
            "for (int i = 0; i < n; i++) { int r = 1 << i; if (i < n - 1) x[i] += r; }",
            false,
        ),
        // A table of what is looked up, and what it would have at each byte; a table that is too short, or of something else.
        (
            TABLE,
            "for (int i = 0; i < n; i++) x[i] = (k >> b[i]);",
            true,
        ),
        (
            TABLE,
            "for (int i = 0; i < n; i++) x[i] = (k >> b[i]) + 0 * (k >> (b[i] + 1));",
            false,
        ),
        (
            SHORT_TABLE,
            "for (int i = 0; i < n; i++) x[i] = b[i] < 255 ? (k >> b[i]) : 0;",
            true,
        ),
        (
            SHORT_TABLE,
            "for (int i = 0; i < n; i++) { int q = (k >> b[i]); x[i] = b[i] < 255 ? q : 0; }",
            false,
        ),
    ];
    for (original, code, is_defined) in cases {
        let with = |body: &str| {
            let params = "int *x, const int *s, const unsigned char *b, int k, int n, int m";
            kernel(&format!("void f({params}) {{ {body} }}"))
        };
        let (original, generated) = (with(original), with(code));
        let verdict = Original::new(&original).verdict(&generated);
        match (&verdict, is_defined) {
            (Verdict::Proven(_), true) => {}
            (Verdict::Unknown { obligation, .. }, false) => {
                assert!(obligation.contains("undefined"), "{code}: {obligation}");
            }
            _ => panic!("{code}: {verdict:?}"),
        }
    }
}
