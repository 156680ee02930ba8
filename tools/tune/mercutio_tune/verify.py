"""Whether a setting is faster beyond noise: pairs of runs, default and setting, in turns, the one that begins changing; a
one-sided sign test over the pairs."""
from math import comb
from statistics import median

SURE = 0.05      # the sign test's level
WORTH = 1.02     # times as fast as the default, at the median


def sign_test(wins, pairs):
    """How likely it is that equals win so often or more often."""
    return sum(comb(pairs, k) for k in range(wins, pairs + 1)) / 2 ** pairs


class Pairs:
    def __init__(self, planned):
        self.planned = planned
        self.default, self.tuned = [], []

    @property
    def done(self):
        return len(self.tuned)

    @property
    def wins(self):
        return sum(b < a for a, b in zip(self.default, self.tuned))

    @property
    def level(self):
        return sign_test(self.wins, self.done) if self.done else 1.0

    @property
    def gain(self):
        return median(self.default) / median(self.tuned) if self.done and median(self.tuned) > 0 else 1.0

    def hopeless(self):
        """Even if all that are left were won."""
        left = self.planned - self.done
        return sign_test(self.wins + left, self.planned) > SURE

    def won(self):
        return self.done == self.planned and self.level <= SURE and self.gain >= WORTH

    def take(self, runner, hints, rules):
        """Runs them; RunError where one of them fails, which decides it."""
        while self.done < self.planned and not self.hopeless():
            order = [({}, self.default), (hints, self.tuned)]
            values = []
            for setting, target in order if self.done % 2 == 0 else reversed(order):
                run = runner.run(setting, rules.patience)
                trouble = rules.same(run)
                if trouble:
                    raise rules.Differs(trouble)
                values.append((target, rules.measure(run)))
            for target, value in values:
                target.append(value)
            rules.tell_pair(self)
