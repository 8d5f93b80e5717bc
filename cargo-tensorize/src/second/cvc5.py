"""Answers SMT-LIB files with cvc5's library: one path a line on standard input, one answer a line back."""

import sys

import cvc5


def answer(path, limit_ms):
    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    solver.setOption("tlimit-per", limit_ms)
    symbols = cvc5.SymbolManager(terms)
    parser = cvc5.InputParser(solver, symbols)
    parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, path)
    said = ""
    while True:
        command = parser.nextCommand()
        if command.isNull():
            return said.strip()
        said += str(command.invoke(solver, symbols))


print("ready", flush=True)
for line in sys.stdin:
    try:
        said = answer(line.strip(), sys.argv[1])
    except Exception as error:  # A file that cvc5 can't read is not confirmed; the others go on.
        said = f"error: {error}"
    print(" ".join(said.split()) or "error: no answer", flush=True)
