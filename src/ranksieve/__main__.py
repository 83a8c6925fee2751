"""The program ``ranksieve``, which ``python -m ranksieve`` runs, too."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; an interrupt while it is imported ends the program without a traceback.

    Later, the commands say what is kept.
    """
    try:
        from ranksieve.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
