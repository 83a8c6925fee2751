"""RankNet, ListNet, ListMLE and LambdaRank: linear models or networks, by gradient descent."""

from __future__ import annotations

from ranksieve.rankers.gradient_descent import GradientRanker
from ranksieve.registry import Method


class RankNet(GradientRanker):
    r"""RankNet: logistic loss on pairs of documents with different labels.

    .. math:: \min_\theta \; \frac{1}{\#pairs} \sum_Q \sum_{i, j \in Q: y_i > y_j}
              \log\left(1 + e^{f(x_j) - f(x_i)}\right) + \frac{\alpha}{2} \|\theta\|^2

    {parameters}

    Notes
    -----
    {solvers}

    References
    ----------
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender, Learning to rank using
    gradient descent, ICML 2005.

    Examples
    --------
    {example}
    >>> network = RankNet(hidden=5, epochs=20).fit(data.take_queries(range(40)), eval_set=data)
    >>> [weight.shape for weight in network.weights_], 1 <= network.best_epoch_ <= 20
    ([(10, 5), (5,), (5,)], True)
    """

    methods = (Method("ranknet", "logistic loss on pairs"),)

    _loss = "ranknet"


class ListNet(GradientRanker):
    r"""ListNet: cross entropy of the top-one probabilities of labels and scores.

    .. math:: \min_\theta \; - \frac{1}{\#Q} \sum_Q \sum_{i \in Q} P_y(i) \log P_z(i)
              + \frac{\alpha}{2} \|\theta\|^2, \qquad P_z(i) = \frac{e^{z_i}}{\sum_j e^{z_j}},
              \quad z_i = f(x_i)

    {parameters}

    Notes
    -----
    {solvers}
    The published method takes steps of fixed size, query by query, on all queries, including those
    with equal labels.

    References
    ----------
    Cao, Qin, Liu, Tsai and Li, Learning to rank: from pairwise approach to listwise approach,
    ICML 2007.

    Examples
    --------
    {example}
    """

    methods = (Method("listnet", "cross entropy of top-one probabilities"),)

    _loss = "listnet"


class ListMLE(GradientRanker):
    r"""ListMLE: likelihood of the order of the labels, given the scores (Plackett-Luce).

    .. math:: \min_\theta \; - \frac{1}{\#Q} \sum_Q \sum_{i \in Q: y_i > \min y}
              \log \frac{e^{f(x_i)}}{\sum_{j \in Q: y_j \le y_i} e^{f(x_j)}}
              + \frac{\alpha}{2} \|\theta\|^2

    {parameters}

    Notes
    -----
    {solvers}

    The method is published for labels without ties. Ours is Breslow's rule of survival analysis:
    each document is compared with all documents of the same or a lower label, in any order. The
    lowest label is left out, because the order of the last documents does not matter.

    References
    ----------
    Xia, Liu, Wang, Zhang and Li, Listwise approach to learning to rank: theory and algorithm,
    ICML 2008.

    Examples
    --------
    {example}
    """

    methods = (Method("listmle", "likelihood of the ideal order"),)

    _loss = "listmle"


class LambdaRank(GradientRanker):
    r"""LambdaRank: RankNet with each pair weighted by how much swapping it would change NDCG.

    Each step follows the gradient, with the ranks r by the current scores, of

    .. math:: \frac{1}{\#Q} \sum_Q \sum_{i, j \in Q: y_i > y_j} |\Delta_{ij}|
              \log\left(1 + e^{f(x_j) - f(x_i)}\right) + \frac{\alpha}{2} \|\theta\|^2,
              \qquad \Delta_{ij} = \frac{2^{y_i} - 2^{y_j}}{IDCG}
              \left(\frac{1}{\log_2(1 + r_i)} - \frac{1}{\log_2(1 + r_j)}\right) .

    {parameters}

    Notes
    -----
    {solvers}

    NDCG is that of the whole list; equal scores rank by descending label, so that the order of
    rows does not matter. Labels must not be negative.

    References
    ----------
    Burges, Ragno and Le, Learning to rank with nonsmooth cost functions, NIPS 2006.

    Examples
    --------
    {example}
    """

    methods = (Method("lambdarank", "pairs weighted by their effect on NDCG", trial={"epochs": 5}),)

    _loss = "lambdarank"
