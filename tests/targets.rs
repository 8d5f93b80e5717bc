//! `docs/targets.md`: which kernel runs on which target. `cargo xtask targets` runs all of it; what is checked here is that
//! the page says what is generated today, for every kernel and target, and two suites are really run.

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

/// Bytes, where a device would saturate or round down; and floats, where sums have another order. In all that is
/// installed.
#[test]
fn two_suites_run() {
    let mut left_out = Vec::new();
    for suite in table::suites() {
        if !["blend", "llama"].contains(&suite.name.as_str()) {
            continue;
        }
        for row in suite.run(&table::targets(), true) {
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
