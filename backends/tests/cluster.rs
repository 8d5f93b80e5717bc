//! Dask's code on a cluster: two workers in processes of their own, on arrays that neither has room for.

mod common;

use common::python::python_with;
use common::{generate, summary};
use std::process::Command;
use tensorize_ir::guard::Tier;

/// Starts a cluster whose workers may have so much memory each, and has the kernel compute there and with NumPy. The arrays
/// are larger than a worker's memory, and the result is, too.
const SCRIPT: &str = r#"
import os
import dask
import numpy as np
from dask.distributed import Client, LocalCluster

LIMIT = 160 << 20

if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=LIMIT, processes=True, dashboard_address=None)
    os.environ["TENSORIZE_DASK_SCHEDULER"] = cluster.scheduler_address
    import in_chunks
    import at_once

    rows, cols = 168, 1 << 20
    base = np.arange(rows * cols, dtype=np.uint32).view(np.uint8)[: rows * cols]
    active = base[::-1]
    out = np.zeros(rows * cols, np.uint8)
    assert out.nbytes > LIMIT
    in_chunks.screen_blend(base, active, out, rows, cols)
    for row in range(0, rows, 8):
        part = slice(row * cols, (row + 8) * cols)
        want = np.zeros(8 * cols, np.uint8)
        at_once.screen_blend(base[part], active[part].copy(), want, 8, cols)
        assert (want == out[part]).all(), f"row {row}"
    done = in_chunks._cluster.run(lambda dask_worker: dask_worker.state.executed_count)
    print(cluster.scheduler_address, *done.values())
    in_chunks._cluster.close()
    cluster.close()
"#;

mod dask {
    use super::*;

    #[test]
    fn arrays_larger_than_a_workers_memory() {
        let Some(python) = python_with("dask.distributed") else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let function = summary("screen");
        for (module, name) in [("in_chunks", "dask"), ("at_once", "numpy")] {
            let mut targets = tensorize_backends::targets().into_iter();
            let target = targets.find(|t| t.name() == name).expect("a target");
            let generated = generate(target, &function, Tier::Exact);
            let file = folder.path().join(format!("{module}.py"));
            std::fs::write(file, &generated.files[0].1).unwrap();
        }
        let script = folder.path().join("run.py");
        std::fs::write(&script, SCRIPT).unwrap();
        let done = Command::new(python)
            .arg(script)
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
        let printed = String::from_utf8_lossy(&done.stdout);
        let words: Vec<&str> = printed.split_whitespace().collect();
        assert!(words[0].starts_with("tcp://"), "{printed}");
        let counts: Vec<usize> = words[1..].iter().map(|w| w.parse().unwrap()).collect();
        assert_eq!(counts.len(), 2, "{printed}");
        assert!(counts.iter().all(|n| *n > 0), "both took part: {printed}");
    }
}
