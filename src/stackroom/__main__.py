"""`python -m stackroom`."""

import sys

from stackroom.cli.main import main

sys.exit(main())
