//! Runs every kernel on every target, or on those that are named, and prints a JSON object a cell; with `--update`, writes
//! `docs/targets.md`.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use tensorize_e2e::{root, table};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let update = named.iter().any(|a| a == "--update");
    let mut targets = table::targets();
    if !update && !named.is_empty() {
        targets.retain(|t| named.iter().any(|n| n == t));
    }
    let mut rows = Vec::new();
    for suite in table::suites() {
        let more = suite.run(&targets, true);
        let mut out = std::io::stdout().lock();
        for cell in more
            .iter()
            .flat_map(|r| &r.cells)
            .filter_map(|(_, c)| c.as_ref().ok())
        {
            writeln!(out, "{}", serde_json::to_string(cell)?)?;
        }
        rows.extend(more);
    }
    let (left_out, failed) = table::missing(&rows);
    for (target, why) in &left_out {
        eprintln!("left out: {target}: {why}");
    }
    for kernel in &failed {
        eprintln!("failed: {kernel}");
    }
    if !failed.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    if update {
        std::fs::write(root().join("docs/targets.md"), table::page(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}
