"""`python -m coterie.cli` is the command `coterie`."""

import sys

from coterie.cli import main

sys.exit(main())
