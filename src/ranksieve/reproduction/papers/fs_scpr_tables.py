"""Numbers that the paper about FS-SCPR prints; rankers on all features are those of LETOR."""

from __future__ import annotations

from ranksieve.reproduction.paper import Means
from ranksieve.study.results import BASE

MEASURES = ("NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "MAP")

_ROWS = {
    "HP2004": {
        "fs-scpr": (0.6337, 0.7590, 0.7893, 0.8179, 0.7216),
        "gas-e": (0.6133, 0.7280, 0.7679, 0.7849, 0.6925),
        "fsmsvm": (0.6267, 0.7136, 0.7635, 0.7879, 0.7014),
        "fsmrank": (0.6133, 0.8070, 0.8187, 0.8383, 0.7205),
        "adarank-map": (0.6133, 0.8164, 0.8277, 0.8328, 0.7219),
        BASE: (0.5733, 0.7129, 0.7528, 0.7720, 0.6712),
        "listnet": (0.6000, 0.7213, 0.7694, 0.7845, 0.6899),
        "rankboost": (0.5067, 0.6989, 0.7211, 0.7428, 0.6251),
    },
    "NP2004": {
        "fs-scpr": (0.5527, 0.7603, 0.7842, 0.8159, 0.6809),
        "gas-e": (0.5600, 0.7236, 0.7617, 0.7958, 0.6736),
        "fsmsvm": (0.5467, 0.7538, 0.7830, 0.8060, 0.6748),
        "fsmrank": (0.5467, 0.7784, 0.8000, 0.8279, 0.6837),
        "adarank-map": (0.4800, 0.6979, 0.7310, 0.7497, 0.6220),
        BASE: (0.5600, 0.7236, 0.7719, 0.7950, 0.6755),
        "listnet": (0.5333, 0.7587, 0.7965, 0.8128, 0.6720),
        "rankboost": (0.4267, 0.6274, 0.6512, 0.6914, 0.5640),
    },
    "OHSUMED": {
        "fs-scpr": (0.5459, 0.4959, 0.4785, 0.4584, 0.4491),
        "gas-e": (0.5547, 0.4794, 0.4720, 0.4502, 0.4475),
        "fsmsvm": (0.5492, 0.4690, 0.4640, 0.4447, 0.4441),
        "fsmrank": (0.5394, 0.5013, 0.4824, 0.4613, 0.4498),
        "adarank-map": (0.5388, 0.4682, 0.4613, 0.4429, 0.4487),
        BASE: (0.5460, 0.4855, 0.4689, 0.4504, 0.4446),
        "listnet": (0.5326, 0.4732, 0.4432, 0.4410, 0.4457),
        "rankboost": (0.4632, 0.4555, 0.4494, 0.4302, 0.4411),
    },
    "MQ2008": {
        "fs-scpr": (0.3692, 0.4375, 0.4770, 0.2318, 0.4776),
        "gas-e": (0.3601, 0.4345, 0.4772, 0.2290, 0.4767),
        "fsmsvm": (0.3652, 0.4278, 0.4701, 0.2251, 0.4744),
        "fsmrank": (0.3686, 0.4399, 0.4791, 0.2327, 0.4771),
        "adarank-map": (0.3754, 0.4370, 0.4794, 0.2288, 0.4764),
        BASE: (0.3725, 0.4333, 0.4765, 0.2309, 0.4744),
        "listnet": (0.3754, 0.4324, 0.4747, 0.2303, 0.4775),
        "rankboost": (0.3856, 0.4288, 0.4666, 0.2255, 0.4775),
    },
}
MEANS: Means = {
    collection: {
        method: dict(zip(MEASURES, values, strict=True)) for method, values in rows.items()
    }
    for collection, rows in _ROWS.items()
}

UNIFIED_RANKS = {
    "Table 11": {"fsmrank": 17.5, "fs-scpr": 15.5, "gas-e": 9.5, "fsmsvm": 8.0},
    "Table 16": {
        "fs-scpr": 17.6,
        "adarank-map": 13.2,
        BASE: 12.0,
        "listnet": 12.0,
        "rankboost": 5.6,
    },
}
"""Table -> method -> unified rank over the four collections."""
