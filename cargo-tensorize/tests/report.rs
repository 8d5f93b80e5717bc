//! `report`: one page with all that is known, and a browser that shows it.

mod common;

use common::{MANIFEST, code, project, stderr, stdout, tensorize, write};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const KERNELS: &str = "#include \"tensorize.h\"
TENSORIZE_KERNEL
void add(const float *a, const float *b, float *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = a[i] < b[i] ? a[i] : b[i] + 1.0f;
}
TENSORIZE_KERNEL
int refused(int a) { static int n; return n += a; }
";

fn stored() -> TempDir {
    let p = project(KERNELS);
    let manifest = MANIFEST.replace("kernels = [\"c/k.c::named\"]\n", "");
    write(p.path(), "Cargo.toml", &manifest);
    let out = tensorize(p.path(), &[]);
    assert_eq!(code(&out), 103, "{}", stderr(&out));
    p
}

fn page(dir: &Path) -> String {
    fs::read_to_string(dir.join("tensorize-report.html")).unwrap()
}

/// It ended with 104, and said nothing.
#[test]
fn what_is_out_of_date_is_named() {
    let p = stored();
    write(p.path(), "c/k.c", &KERNELS.replace("1.0f", "2.0f"));
    let out = tensorize(p.path(), &["report"]);
    assert_eq!(code(&out), 104, "{}", stderr(&out));
    let said = stderr(&out);
    for part in ["TZ0704", "out of date: add", "help: run `cargo tensorize`"] {
        assert!(said.contains(part), "no `{part}`: {said}");
    }
    assert!(page(p.path()).contains("about another version of its file"));
}

#[test]
fn a_page_has_all_that_is_known() {
    let p = stored();
    let url = "https://example.com/{file}#L{line}";
    let out = tensorize(p.path(), &["report", "--source-url", url]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert_eq!(stdout(&out), "tensorize-report.html\n");
    let page = page(p.path());
    for part in [
        "<strong>1</strong> proven, the same bits",
        "<strong>1</strong> not proven",
        "href=\"https://example.com/c/k.c#L2\"",
        "out[i] = a[i] &lt; b[i] ? a[i] : b[i] + 1.0f;",
        "func @add(",
        "line 5: n rounds; before round ",
        "questions to the solver",
        "out[0 .. n] disjoint a[0 .. n]",
        "a[0 .. n] read",
        "cpu: generated, exact",
        "void add__tensorize_cpu(",
        "it is not proven, so always",
        "TZ0",
    ] {
        assert!(page.contains(part), "no `{part}`:\n{page}");
    }
    // Each question, what came of it and how long it took, folded away.
    let folded = page
        .split("<details class=\"obligations\">")
        .nth(1)
        .unwrap();
    let folded = folded.split("</details>").next().unwrap();
    let said = folded.split(" questions").next().unwrap();
    let asked: usize = said.trim_start_matches("<summary>").parse().unwrap();
    assert!(asked > 0);
    for part in ["<li>holds: there is no such case, ", " ms<pre>", "(assert "] {
        let found = folded.matches(part).count();
        assert!(found >= asked, "{found} times `{part}`:\n{folded}");
    }
    for outside in ["<script", "<link", " src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }

    let changed = KERNELS.replace("+ 1.0f", "+ 2.0f");
    write(p.path(), "c/k.c", &changed);
    let out = tensorize(p.path(), &["report", "--output", "here/and/now.html"]);
    assert_ne!(code(&out), 0);
    let page = fs::read_to_string(p.path().join("here/and/now.html")).unwrap();
    assert!(page.contains("<strong>1</strong> changed since"), "{page}");
    assert!(!page.contains("questions to the solver"), "{page}");
}

#[test]
fn what_cannot_be_written_is_said() {
    let p = stored();
    let out = tensorize(p.path(), &["report", "--output", "c/k.c/page.html"]);
    assert_eq!(code(&out), 101, "{}", stderr(&out));
    assert!(
        stderr(&out).contains("cannot write c/k.c/page.html"),
        "{}",
        stderr(&out)
    );

    fs::remove_dir_all(p.path().join(".tensorize")).unwrap();
    let out = tensorize(p.path(), &["report"]);
    assert!(
        stderr(&out).contains("nothing is stored"),
        "{}",
        stderr(&out)
    );
    assert_ne!(code(&out), 0);
    assert!(!p.path().join("tensorize-report.html").exists());
}

mod browser {
    use super::*;
    use std::process::Command;

    /// What is looked at in the page, which says in its title what is wrong with it.
    const LOOK: &str = "<script>
        const wrong = [];
        for (const a of document.querySelectorAll('a[href^=\"#\"]'))
            if (!document.getElementById(a.getAttribute('href').slice(1))) wrong.push('link to ' + a.href);
        for (const r of document.querySelectorAll('svg rect')) {
            const box = r.getBoundingClientRect(), all = r.ownerSVGElement.getBoundingClientRect();
            if (box.width < 1 || box.right > all.right) wrong.push('bar ' + box.width);
        }
        for (const t of document.querySelectorAll('svg text')) {
            const box = t.getBoundingClientRect(), all = t.ownerSVGElement.getBoundingClientRect();
            if (box.left < all.left || box.right > all.right) wrong.push('text ' + t.textContent);
        }
        const root = document.documentElement;
        if (root.scrollWidth > root.clientWidth) wrong.push('wider than the window');
        if (document.querySelectorAll('svg rect').length != 1) wrong.push('bars');
        document.title = 'ground ' + getComputedStyle(document.body).backgroundColor
            + ', ink ' + getComputedStyle(document.body).color + ', wrong: ' + wrong.join('; ') + '.';
        </script></body>";

    /// The title that the page gives itself.
    fn title(file: &Path, more: &[&str]) -> String {
        let home = tempfile::tempdir().unwrap();
        let out = Command::new("chromium")
            // Tests may run as root, in containers.
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .arg(format!("--user-data-dir={}", home.path().display()))
            .args(more)
            .arg("--dump-dom")
            .arg(format!("file://{}", file.display()))
            .output()
            .expect("chromium: `cargo xtask setup` installs it");
        let dom = String::from_utf8_lossy(&out.stdout).into_owned();
        let title = dom
            .split("<title>")
            .nth(1)
            .and_then(|t| t.split("</title>").next());
        title
            .unwrap_or_else(|| panic!("{dom}\n{}", stderr(&out)))
            .to_owned()
    }

    #[test]
    fn shows_bars_links_and_both_colour_schemes() {
        let p = stored();
        let out = tensorize(p.path(), &["report"]);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        let looked_at = p.path().join("looked-at.html");
        fs::write(&looked_at, page(p.path()).replace("</body>", LOOK)).unwrap();
        let narrow = ["--window-size=500,800"];
        let light = title(&looked_at, &narrow);
        assert_eq!(
            light,
            "ground rgb(255, 255, 255), ink rgb(29, 33, 38), wrong: ."
        );
        let dark = title(&looked_at, &["--blink-settings=preferredColorScheme=0"]);
        assert_eq!(
            dark,
            "ground rgb(21, 24, 28), ink rgb(228, 231, 235), wrong: ."
        );
    }
}
