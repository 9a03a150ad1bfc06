"""Every operation of an administrator, in the order in which help and documents list them."""

from stackroom.admin.access import ACCESS_OPERATIONS, TOKEN_OPERATIONS
from stackroom.admin.audit import AUDIT_OPERATIONS
from stackroom.admin.catalogues import CATALOGUE_OPERATIONS
from stackroom.admin.jobs import JOB_OPERATIONS
from stackroom.admin.users import ROLE_OPERATIONS, USER_OPERATIONS
from stackroom.tools.operation import AnyOperation

ADMIN_OPERATIONS: tuple[AnyOperation, ...] = (
    *USER_OPERATIONS,
    *ROLE_OPERATIONS,
    *TOKEN_OPERATIONS,
    *ACCESS_OPERATIONS,
    *CATALOGUE_OPERATIONS,
    *JOB_OPERATIONS,
    *AUDIT_OPERATIONS,
)
