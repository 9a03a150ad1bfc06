from stackroom.errors import ExpectedError as ExpectedError
from stackroom.errors import InputError as InputError
from stackroom.errors import NotFoundError as NotFoundError
from stackroom.python.catalogue import Catalogue as Catalogue
from stackroom.python.library import Library as Library
from stackroom.python.results import Change as Change
from stackroom.python.results import Explanation as Explanation
from stackroom.python.results import Record as Record
from stackroom.python.results import Results as Results
from stackroom.python.results import Table as Table

__version__: str
LAYOUTS: dict[str, int]
