"""`python -m pinakes`."""

import sys

from pinakes.cli.main import main

sys.exit(main())
