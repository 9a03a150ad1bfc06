from stackroom.errors import ExpectedError as ExpectedError
from stackroom.errors import InputError as InputError
from stackroom.errors import NotFoundError as NotFoundError
from stackroom.python.catalogue import Catalogue as Catalogue
from stackroom.python.catalogue import Change as Change
from stackroom.python.catalogue import Explanation as Explanation
from stackroom.python.catalogue import Record as Record
from stackroom.python.catalogue import Results as Results
from stackroom.python.catalogue import Table as Table
from stackroom.python.library import Library as Library

__version__: str
LAYOUTS: dict[str, int]
