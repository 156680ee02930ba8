"""The search: the default, then each hint by itself, then what was best of each together, then where Optuna's sampler (a
tree-structured Parzen estimator) expects improvement. No choice is run twice."""
from . import space as spaces
from .runs import RunError, TooLong


class Trial:
    def __init__(self, choice, value=None, run=None, trouble=""):
        self.choice, self.value, self.run, self.trouble = choice, value, run, trouble

    @property
    def hints(self):
        return spaces.hints_of(self.choice)


class Search:
    """`measure(run)` is what is to be small; `same(run)` is "" or why its files differ from the default's."""

    def __init__(self, runner, space, rules):
        self.runner, self.space, self.rules = runner, space, rules
        self.trials = []
        self.best = None        # of those that can be used
        self.default = None

    def begin(self, default):
        self.default = self.best = Trial({hint: spaces.DEFAULT for hint in self.space}, self.rules.measure(default), default)
        self.trials.append(self.default)

    def known(self, choice):
        return next((trial for trial in self.trials if trial.choice == choice), None)

    def limit(self):
        """So long a run may take: what is slower than the best by this much can't become it."""
        best = self.best.run.seconds
        return max(best * self.rules.factor, best + self.rules.grace)

    def take(self, choice):
        trial = Trial(choice)
        try:
            trial.run = self.runner.run(trial.hints, self.limit())
            trial.trouble = self.rules.same(trial.run)
            trial.value = None if trial.trouble else self.rules.measure(trial.run)
        except TooLong:
            trial.trouble = "ended: slower than the best so far"
        except RunError as error:
            trial.trouble = str(error)
        self.trials.append(trial)
        if trial.value is not None and trial.value < self.best.value:
            self.best = trial
        self.rules.tell(self, trial)
        return trial

    def first_choices(self):
        """One hint at a time, the first values of all hints first: a few trials have then seen every hint."""
        longest = max((len(values) for values in self.space.values()), default=0)
        for place in range(longest):
            for hint, values in self.space.items():
                if place < len(values):
                    yield dict(self.default.choice, **{hint: values[place]})

    def combined(self):
        """What was better by itself, together; then without each of its parts."""
        best = dict(self.default.choice)
        for hint in self.space:
            alone = [trial for trial in self.trials if trial.value is not None and list(trial.hints) == [hint] and trial.value < self.default.value]
            if alone:
                best[hint] = min(alone, key=lambda trial: trial.value).choice[hint]
        yield best
        for hint in spaces.hints_of(best):
            yield dict(best, **{hint: spaces.DEFAULT})

    def go(self, optuna, trials):
        """`trials` runs besides the default, at most."""
        enough = lambda: len(self.trials) - 1 >= trials or self.rules.out_of_time(self) or len(self.trials) >= spaces.size(self.space)
        study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=self.rules.seed, multivariate=True, n_startup_trials=4, warn_independent_sampling=False))
        kinds = {hint: optuna.distributions.CategoricalDistribution([spaces.DEFAULT, *values]) for hint, values in self.space.items()}
        tell = lambda trial: study.add_trial(optuna.trial.create_trial(
            params=trial.choice, distributions=kinds,
            value=trial.value if trial.value is not None else 10 * self.default.value))
        tell(self.default)
        for choices, share in ((self.first_choices(), 0.6), (self.combined(), 1)):
            for choice in choices:
                if enough() or len(self.trials) - 1 >= max(1, share * trials):
                    break
                if not self.known(choice):
                    tell(self.take(choice))
        idle = 0
        while not enough() and idle < 50:
            asked = study.ask(kinds)
            known = self.known(asked.params)
            idle = idle + 1 if known else 0
            trial = known or self.take(dict(asked.params))
            study.tell(asked, trial.value if trial.value is not None else 10 * self.default.value)
