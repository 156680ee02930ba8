"""Makes a failing program small: steps, ranks, hints, delays and types are taken away as long as it still fails."""
import os
import subprocess
import time


class Shrinker:
    def __init__(self, runner, seed, seconds):
        self.runner, self.seed, self.end = runner, seed, time.time() + seconds
        self.ranks, self.words, self.repeat = None, [], 1

    def text(self, words, mode="--show"):
        edits = " ".join(x for x in (self.runner.args.edits, " ".join(words)) if x)
        line = [self.runner.args.program, mode, str(self.seed), "--edits", edits]
        return subprocess.run(line, capture_output=True, text=True, check=True, env=dict(os.environ, LD_PRELOAD="")).stdout

    def fails(self, words, ranks=None):
        wrong, _ = self.runner.launch(self.seed, 1, " ".join(words), self.repeat, ranks or self.ranks, 8)
        return wrong.get(self.seed)

    def out_of_time(self):
        return time.time() > self.end

    def attempt(self, word, ranks=None):
        if self.out_of_time() or not self.fails(self.words + [word], ranks):
            return False
        self.words.append(word)
        self.ranks = ranks or self.ranks
        return True

    def steps(self):
        """(id, text) of the steps that are left."""
        rows = []
        for line in self.text(self.words).split("\n"):
            number, _, rest = line.partition(" ")
            if number.isdigit() and not line.startswith(" "):
                rows.append((int(number), rest))
        return rows

    def drop_steps(self):
        """Halves, quarters .. of the steps, from the end; then one by one until nothing more goes."""
        size = max(len(self.steps()) // 2, 1)
        while not self.out_of_time():
            left, before = [number for number, _ in self.steps()], len(self.words)
            for at in range(len(left), 0, -size):
                part = left[max(at - size, 0):at]
                self.attempt("-s:%d-%d" % (part[0], part[-1]))
            if size == 1 and len(self.words) == before:
                return
            size = max(size // 2, 1)

    def run(self):
        """Words that edit the program, or None where it doesn't fail again."""
        for self.repeat in (1, 8, 40):
            if self.fails([]):
                break
        else:
            return None
        ranks = int(self.text([]).split(",")[1].split()[0])
        if not self.attempt("-hints"):
            for name in sorted({x.split("=")[0] for line in self.text([]).split("\n") if line.startswith("info ")
                                for x in line.split()[2:]}):
                self.attempt("-hint:" + name)
        self.attempt("-delays")
        for fewer in range(1, ranks):
            if self.attempt("ranks:%d" % fewer, fewer):
                break
        self.drop_steps()
        for number, text in self.steps():
            if text.startswith("set_view"):
                self.attempt("plainview:%d" % number)
            elif text.startswith(("read", "write", "iread", "iwrite")):
                self.attempt("plain:%d" % number)
                if text.startswith("i") or "_begin" in text:
                    self.attempt("blocking:%d" % number)
                for rank in range(ranks):
                    self.attempt("-r:%d.%d" % (number, rank))
        return self.words


def artifact(runner, seed, lines):
    """Writes what is known of a failing seed: how to repeat it, the program as text, and a C program that fails alike."""
    args = runner.args
    os.makedirs(args.artifacts, exist_ok=True)
    base = os.path.join(args.artifacts, "%s-%d" % (args.mpi, seed))
    shrinker = Shrinker(runner, seed, args.shrink_seconds)
    words = shrinker.run() if args.shrink_seconds else None
    note = "" if words is not None else "It did not fail again when it ran alone.\n" if args.shrink_seconds else ""
    words = words or []
    ranks, jobs, environment = runner.job(seed, args.artifacts)
    arguments = ["--first", str(seed), "--repeat", str(shrinker.repeat), "--dir", ".", "--edits", "'%s'" % " ".join(words)]
    command = " & ".join(" ".join(x) for x in runner.commands(seed, shrinker.ranks or ranks, jobs, environment, arguments))
    with open(base + ".txt", "w") as out:
        out.write("\n".join(lines) + "\n\n" + note + command + "\n\n" + shrinker.text(words))
    with open(base + ".c", "w") as out:
        out.write(shrinker.text(words, "--c"))
    print("seed %d: %s.c, with %d steps. %s\n    %s" % (seed, base, len(shrinker.steps()), note.strip(), command), flush=True)
