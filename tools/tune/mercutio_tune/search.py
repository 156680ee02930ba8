"""The search: the default; then one hint after the other, each value of it with what was best of the others so far (coordinate
descent, hints that make a difference first); then the best without each of its parts; then where Optuna's sampler (a tree-structured Parzen estimator) expects
improvement. The last fifth of the runs goes to those that lead: whoever leads by luck falls back when it runs again."""
from statistics import median

from . import space as spaces
from .runs import RunError, TooLong

ALIKE = 1.02        # of values no further apart the one with fewer hints is better
DIFFERENT = 0.1    # from here on a hint makes a difference


def ends_first(values):
    """Of sizes and numbers the last, the first, and then those between: where neither end makes a difference, others hardly do."""
    values = list(values)
    return [values[-1], *values[:-1]] if all(value[:1].isdigit() for value in values) else values


class Trial:
    def __init__(self, choice, values=(), run=None, trouble=""):
        self.choice, self.values, self.run, self.trouble = choice, list(values), run, trouble

    @property
    def value(self):
        return median(self.values) if self.values and not self.trouble else None

    @property
    def hints(self):
        return spaces.hints_of(self.choice)


class Search:
    """`measure(run)` is what is to be small; `same(run)` is "" or why its files differ from the default's."""

    def __init__(self, runner, space, rules):
        self.runner, self.space, self.rules = runner, space, rules
        self.trials = []
        self.default = None
        self.runs = 0           # besides the default's

    def begin(self, default, earlier=()):
        """`earlier`: trials of a search that was stopped."""
        self.default = Trial({hint: spaces.DEFAULT for hint in self.space}, [self.rules.measure(default)], default)
        self.trials = [self.default, *earlier]
        self.runs = sum(max(1, len(trial.values)) for trial in earlier)
        self.quickest = default.seconds

    @property
    def best(self):
        """Of those that can be used."""
        usable = [trial for trial in self.trials if trial.value is not None]
        least = min(trial.value for trial in usable)
        return min((trial for trial in usable if trial.value <= ALIKE * least), key=lambda trial: (len(trial.hints), trial.value))

    def known(self, choice):
        return next((trial for trial in self.trials if trial.choice == choice), None)

    def limit(self):
        """So long a run may take: what is slower than the quickest by this much can't be the best."""
        return max(self.quickest * self.rules.factor, self.quickest + self.rules.grace)

    def run(self, trial):
        self.runs += 1
        try:
            run = self.runner.run(trial.hints, self.limit())
            trial.trouble = self.rules.same(run)
            trial.values.append(self.rules.measure(run))
            if not trial.trouble:
                self.quickest = min(self.quickest, run.seconds)
        except TooLong:
            trial.trouble = "ended: slower than the best so far"
        except RunError as error:
            trial.trouble = str(error)

    def take(self, choice):
        trial = Trial(choice)
        self.run(trial)
        self.trials.append(trial)
        self.rules.tell(self, trial)
        return trial

    def walk(self):
        """One hint at a time beside the best of the others, the first values of all hints first; then those first whose values
        have made a difference so far."""
        left = {hint: ends_first(values) for hint, values in self.space.items() if values}
        tried = dict.fromkeys(left, 0)
        indifferent = set()
        while left:
            hint = min(left, key=lambda hint: (hint in indifferent, tried[hint]))
            before = self.best
            choice = dict(before.choice, **{hint: left[hint].pop(0)})
            yield choice
            trial = self.known(choice)
            matters = trial is not None and (trial.value is None or abs(trial.value / before.value - 1) > DIFFERENT)
            if matters:
                indifferent.discard(hint)
            elif tried[hint] == 0:
                indifferent.add(hint)
            tried[hint] += 1
            if not left[hint]:
                del left[hint]

    def thinned(self):
        """The best without each of its parts: a hint that does nothing isn't worth keeping."""
        best = dict(self.best.choice)
        for hint in spaces.hints_of(best):
            yield dict(best, **{hint: spaces.DEFAULT})

    def explore(self, optuna, runs):
        enough = lambda: self.runs >= runs or self.rules.out_of_time(self) or len(self.trials) >= spaces.size(self.space)
        for choices in (self.walk, self.thinned):
            for choice in choices():
                if enough():
                    return
                if not self.known(choice):
                    self.take(choice)
        study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=self.rules.seed, multivariate=True, n_startup_trials=4, warn_independent_sampling=False))
        kinds = {hint: optuna.distributions.CategoricalDistribution([spaces.DEFAULT, *values]) for hint, values in self.space.items()}
        worth = lambda trial: trial.value if trial.value is not None else 10 * self.default.value
        for trial in self.trials:
            study.add_trial(optuna.trial.create_trial(params=trial.choice, distributions=kinds, value=worth(trial)))
        idle = 0
        while not enough() and idle < 50:
            asked = study.ask(kinds)
            known = self.known(asked.params)
            idle = idle + 1 if known else 0
            study.tell(asked, worth(known or self.take(dict(asked.params))))

    def confirm(self, runs):
        """Whoever leads runs again, until one has led three times. The default's turn comes in the pairs."""
        while self.runs < runs and not self.rules.out_of_time(self):
            leader = self.best
            if leader is self.default or len(leader.values) >= 3:
                return
            self.run(leader)
            self.rules.tell(self, leader)

    def go(self, optuna, runs):
        """`runs` besides the default's, at most."""
        self.explore(optuna, runs - runs // 5)
        self.confirm(runs)
