"""``python -m ranksieve``."""

from ranksieve.cli import main

if __name__ == "__main__":
    main()
