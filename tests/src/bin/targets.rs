//! Runs every kernel on every target, or on those that are named, and prints a JSON object a cell; with `--update`, writes
//! `docs/targets.md`. `--elsewhere FILE` has what another machine printed, for what can't run on this one.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use tensorize_e2e::{root, table};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (mut update, mut elsewhere, mut named) = (false, Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match &*argument {
            "--update" => update = true,
            "--elsewhere" => {
                let file = arguments.next().ok_or("--elsewhere needs a file")?;
                let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
                for (n, line) in (1..).zip(text.lines()) {
                    elsewhere
                        .push(serde_json::from_str(line).map_err(|e| format!("{file}:{n}: {e}"))?);
                }
            }
            _ => named.push(argument),
        }
    }
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
    for why in table::complete(&mut rows, &elsewhere) {
        eprintln!("not taken from elsewhere: {why}");
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
