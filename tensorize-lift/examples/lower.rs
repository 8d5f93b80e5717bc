//! Prints the LoopIR of every function of a C file: `cargo run -p tensorize-lift --example lower --
//! file.c -I include`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(file) = args.next() else {
        eprintln!("usage: lower FILE.c [CLANG-ARGS]");
        return ExitCode::from(2);
    };
    let args: Vec<String> = args.collect();
    match tensorize_lift::c::parse(Path::new(&file), &args) {
        Ok(functions) => {
            for f in functions {
                match f.lowered {
                    Ok(kernel) => println!("{kernel}"),
                    Err(p) => {
                        let line = p.span.map_or(0, |s| s.line);
                        println!(
                            "{file}:{line}: {} refused: {} [{}]\n",
                            f.name, p.message, p.code
                        );
                    }
                }
            }
            ExitCode::SUCCESS
        }
        Err(p) => {
            eprintln!("{}\n{}", p.message, p.help.unwrap_or_default());
            ExitCode::FAILURE
        }
    }
}
