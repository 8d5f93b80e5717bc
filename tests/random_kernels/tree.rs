//! A C kernel as a tree of text: it can be printed, and made smaller without knowing what it means.

use std::fmt::Write;

/// Text with expressions in it.
#[derive(Clone, Debug)]
pub struct Ex {
    /// One more than there are children.
    texts: Vec<String>,
    pub children: Vec<Ex>,
}

impl Ex {
    /// `format` with a child for every `{}`.
    pub fn new(format: &str, children: Vec<Ex>) -> Ex {
        let texts: Vec<String> = format.split("{}").map(str::to_owned).collect();
        assert_eq!(texts.len(), children.len() + 1, "{format}");
        Ex { texts, children }
    }

    /// An expression without parts.
    pub fn leaf(text: impl Into<String>) -> Ex {
        Ex {
            texts: vec![text.into()],
            children: vec![],
        }
    }

    fn print(&self, out: &mut String) {
        for (i, text) in self.texts.iter().enumerate() {
            out.push_str(text);
            if let Some(child) = self.children.get(i) {
                child.print(out);
            }
        }
    }
}

/// A statement: its head, and the blocks that follow, each with the text after it.
#[derive(Clone, Debug)]
pub struct Stmt {
    head: Ex,
    blocks: Vec<(Vec<Stmt>, Ex)>,
}

impl Stmt {
    /// A statement without blocks; the semicolon is part of `format`.
    pub fn new(format: &str, children: Vec<Ex>) -> Stmt {
        Stmt {
            head: Ex::new(format, children),
            blocks: vec![],
        }
    }

    /// A block after what is there, and then this text.
    pub fn block(mut self, body: Vec<Stmt>, after: &str, children: Vec<Ex>) -> Stmt {
        self.blocks.push((body, Ex::new(after, children)));
        self
    }

    fn print(&self, indent: usize, out: &mut String) {
        let pad = "    ".repeat(indent);
        out.push_str(&pad);
        self.head.print(out);
        for (body, after) in &self.blocks {
            out.push_str(" {\n");
            for s in body {
                s.print(indent + 1, out);
            }
            let _ = write!(out, "{pad}}}");
            after.print(out);
        }
        out.push('\n');
    }
}

/// A function and what its inputs may be.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: String,
    pub returns: &'static str,
    pub params: Vec<String>,
    pub body: Vec<Stmt>,
    /// No run of it is undefined, whatever the inputs.
    pub guarded: bool,
    /// Sizes may be negative.
    pub negative_sizes: bool,
}

impl Kernel {
    /// The definition.
    pub fn text(&self) -> String {
        let params = match self.params.join(", ") {
            p if p.is_empty() => "void".into(),
            p => p,
        };
        let mut out = format!("{} {}({params})\n{{\n", self.returns, self.name);
        for s in &self.body {
            s.print(1, &mut out);
        }
        out.push_str("}\n");
        out
    }

    /// The kernel with one part left out or made simpler, in every possible way, the largest parts first. Not all
    /// are C.
    pub fn smaller(&self) -> impl Iterator<Item = Kernel> + '_ {
        let statements = (0..).map_while(|at| {
            let mut k = self.clone();
            Cut { skip: at }.stmts(&mut k.body).then_some(k)
        });
        let expressions = (0..).map_while(|at| {
            let mut k = self.clone();
            Cut { skip: at }.exprs_of(&mut k.body).then_some(k)
        });
        let params = (0..self.params.len()).map(|at| {
            let mut k = self.clone();
            k.params.remove(at);
            k
        });
        params.chain(statements).chain(expressions)
    }
}

/// Makes the change number `skip`; the answer of each method is whether it was made.
struct Cut {
    skip: usize,
}

impl Cut {
    fn turn(&mut self) -> bool {
        if self.skip == 0 {
            return true;
        }
        self.skip -= 1;
        false
    }

    fn stmts(&mut self, body: &mut Vec<Stmt>) -> bool {
        for i in 0..body.len() {
            if self.turn() {
                body.remove(i);
                return true;
            }
            for block in 0..body[i].blocks.len() {
                if self.turn() {
                    let inner = std::mem::take(&mut body[i].blocks[block].0);
                    body.splice(i..=i, inner);
                    return true;
                }
            }
            if body[i].blocks.iter_mut().any(|(b, _)| self.stmts(b)) {
                return true;
            }
        }
        false
    }

    fn exprs_of(&mut self, body: &mut [Stmt]) -> bool {
        body.iter_mut().any(|s| {
            s.head.children.iter_mut().any(|e| self.expr(e))
                || s.blocks.iter_mut().any(|(b, after)| {
                    after.children.iter_mut().any(|e| self.expr(e)) || self.exprs_of(b)
                })
        })
    }

    fn expr(&mut self, e: &mut Ex) -> bool {
        let mut simpler = e.children.clone();
        if e.texts != ["1"] && e.texts != ["0"] {
            simpler.extend(["0", "1"].map(Ex::leaf));
        }
        for s in simpler {
            if self.turn() {
                *e = s;
                return true;
            }
        }
        e.children.iter_mut().any(|c| self.expr(c))
    }
}
