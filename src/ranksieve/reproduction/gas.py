"""GAS: measures against the number of features, beside what its paper says."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from ranksieve.reproduction.collections import Facts, open_at_hand
from ranksieve.reproduction.published_gas import Finding, findings
from ranksieve.study import Study, StudyResult

MEASURES = ("MAP", "NDCG@10")
RANKER = "ranksvm"
SELECTORS = ("gas-e", "gas-l", "ig", "chi", "all", "random")
KS = (*range(1, 11), 12, 15, 18, 20, 25, 30, 40, "all")
N_SEEDS = 5
CONVENTION = "standard"
# The paper counts only the top grade of OHSUMED, 2, as relevant.
CONVENTIONS = {"OHSUMED": "standard:2"}


@dataclass(frozen=True)
class GASReproduction:
    """GAS-E, GAS-L, IG, CHI, all features and random orders in six trials.

    Attributes
    ----------
    facts : Facts
    study : StudyResult
    """

    facts: Facts
    study: StudyResult

    def findings(self) -> list[Finding]:
        """What the paper says about this collection, and what is found."""
        return findings(self.facts.known_as, self.study, RANKER)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "method": "gas",
            **self.facts.as_dict(),
            "protocol": self.study.protocol,
            "ranker": RANKER,
            "findings": [finding._asdict() for finding in self.findings()],
            "curves": {
                measure: {
                    run.selector: {
                        "chosen": run.chosen.mean(measure),
                        "by_k": {str(k): tested.mean(measure) for k, tested in run.by_k.items()},
                    }
                    for run in self.study.of_ranker(RANKER)
                }
                for measure in MEASURES
            },
        }


def reproduce_gas(
    directory: str | os.PathLike[str],
    n_seeds: int = N_SEEDS,
    out: str | os.PathLike[str] | None = None,
    convention: str | None = None,
) -> GASReproduction:
    """Rank by RankSVM on more and more features of GAS-E, GAS-L, IG and CHI.

    The queries are dealt out to three parts, which train, tune and test in all six orders. The
    trade-off of GAS and RankSVM's C are tuned by MAP on the validation queries.

    Parameters
    ----------
    directory : path
        A collection with folds, which are joined.
    n_seeds : int
        Of random orders.
    out : path, optional
        Directory to keep the study in, which goes on where it was.
    convention : str, optional
        Of the measures; by default ``"standard"``, but ``"standard:2"`` for OHSUMED: there the
        paper counts only the top grade as relevant.

    Returns
    -------
    GASReproduction

    References
    ----------
    X. Geng, T.-Y. Liu, T. Qin, H. Li. Feature selection for ranking. SIGIR 2007.
    """
    at_hand = open_at_hand(directory, convention)
    facts = at_hand.facts
    usual = CONVENTIONS.get(facts.known_as or facts.unnormalized or "", CONVENTION)
    facts = Facts(**vars(facts) | {"convention": usual if convention is None else convention})
    study = Study(
        at_hand.collection,
        out=out,
        protocol="six-trials",
        title=facts.title,
        selectors=SELECTORS,
        rankers=[RANKER],
        ks=KS,
        measures=MEASURES,
        tune="MAP",
        convention=facts.convention,
        seeds=n_seeds,
        parameters={"gas-e": {"importance.convention": facts.convention}},
    )
    return GASReproduction(facts, study.run())
