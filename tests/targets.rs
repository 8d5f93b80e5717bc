//! `docs/targets.md`: which kernel runs on which target. `cargo xtask targets` runs all of it; what is checked here is that
//! the page says what is generated today, for every kernel and target, and two suites are really run, in all that is
//! installed.

use tensorize_e2e::root;
use tensorize_e2e::table::{self, Row};

fn stored() -> String {
    std::fs::read_to_string(root().join("docs/targets.md")).expect("the page")
}

#[test]
fn the_page_is_up_to_date() {
    let rows: Vec<Row> = table::suites()
        .iter()
        .flat_map(|s| s.run(&table::targets(), false))
        .collect();
    let (_, failed) = table::missing(&rows);
    assert!(failed.is_empty(), "{failed:#?}");
    let page = table::comparable(&table::page(&rows));
    if table::comparable(&stored()) == page {
        return;
    }
    panic!(
        "docs/targets.md is out of date; `cargo xtask targets --frameworks all --update` writes it\n{page}"
    );
}

/// What the paper's own lowering to the array managed, some of it with saturating bytes.
const OF_THE_PAPER: usize = 41;

#[test]
fn more_runs_on_the_array_than_in_the_paper() {
    let page = stored();
    let cells =
        |line: &str| -> Vec<String> { line.split('|').map(|c| c.trim().to_owned()).collect() };
    let mut lines = page.lines().filter(|l| l.starts_with('|'));
    let head = cells(lines.next().expect("a table"));
    let column = head
        .iter()
        .position(|c| c == "gemmini")
        .expect("its column");
    let counts = lines.find(|l| l.starts_with("| of the 69")).expect("a sum");
    let count = cells(counts)[column]
        .split(' ')
        .next()
        .and_then(|n| n.parse().ok());
    assert!(count > Some(OF_THE_PAPER), "{count:?}");
}

/// Table 1 of the Tenspiler paper (appendix A) has a number where its tool wrote code and `NA` where it didn't, for the
/// kernels of `blend` and `llama`: in the columns of the frameworks everywhere; under TPC-C for all of `blend`, and for
/// `llama` it went to PyTorch on that device; and under Gemmini for these. We have code wherever it has.
const FOR_ITS_ARRAY: [&str; 8] = [
    "linear_burn",
    "linear_dodge",
    "normal_blend_8",
    "normal_blend_f",
    "screen_blend",
    "matmul",
    "rmsnorm_part1",
    "softmax_part3",
];

#[test]
fn every_cell_that_the_paper_fills_is_filled() {
    let page = stored();
    let mut tables = page.split("\n\n").filter(|part| part.starts_with('|'));
    let table = tables.nth(1).expect("a table of kernels");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let column = |name: &str| rows[0].iter().position(|c| *c == name).expect(name);
    let mut filled = 0;
    for row in &rows[2..] {
        let (suite, kernel) = (row[column("suite")], row[column("kernel")]);
        if !["blend", "llama"].contains(&suite) {
            continue;
        }
        let mut targets = vec!["numpy", "tensorflow", "pytorch", "mlx", "gaudi"];
        targets.extend(FOR_ITS_ARRAY.contains(&kernel).then_some("gemmini"));
        for target in targets {
            let cell = row[column(target)];
            let has_code = ["exact", "real", "split"]
                .iter()
                .any(|s| cell.starts_with(s));
            assert!(has_code, "{kernel} on {target}: {cell}");
            filled += 1;
        }
    }
    // 23 kernels on five targets, and those on the array.
    assert_eq!(filled, 23 * 5 + FOR_ITS_ARRAY.len());
}

/// Bytes, where a device would saturate or round down; and floats, where sums have another order.
fn two_suites_run_on(targets: &[&'static str]) {
    let mut left_out = Vec::new();
    for suite in table::suites() {
        if !["blend", "llama"].contains(&suite.name.as_str()) {
            continue;
        }
        for row in suite.run(targets, true) {
            for (target, cell) in &row.cells {
                let cell = cell.as_ref();
                let cell = cell.unwrap_or_else(|why| panic!("{} on {target}: {why}", row.name()));
                let refused = cell.status == table::Status::Unsupported;
                match cell.left_out {
                    Some(_) => left_out.push(*target),
                    None => assert!(cell.ran_on.is_some() != refused, "{cell:?}"),
                }
                // What the run time says where a driver has no name for its device.
                assert_ne!(cell.ran_on.as_deref(), Some("a device"), "{cell:?}");
            }
        }
    }
    left_out.sort_unstable();
    left_out.dedup();
    if !left_out.is_empty() {
        eprintln!("SKIPPED: {}, which are not installed", left_out.join(", "));
    }
    // What the set-up always installs is always here.
    assert!(
        !left_out.contains(&"numpy") && !left_out.contains(&"cpu"),
        "{left_out:?}"
    );
}

/// Those whose packages the set-up leaves out, unless it is asked for them, have modules of their names below.
const LARGE: [&str; 2] = ["pytorch", "tensorflow"];

#[test]
fn two_suites_run() {
    let mut targets = table::targets();
    targets.retain(|t| !LARGE.contains(t));
    two_suites_run_on(&targets);
}

mod pytorch {
    /// And on Gaudi, which has PyTorch for what is no work for its cores.
    #[test]
    fn two_suites_run() {
        super::two_suites_run_on(&["pytorch", "gaudi"]);
    }
}

mod tensorflow {
    #[test]
    fn two_suites_run() {
        super::two_suites_run_on(&["tensorflow"]);
    }
}
