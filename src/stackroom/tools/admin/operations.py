"""Every operation of an administrator, in the order in which help and documents list them."""

from stackroom.tools.admin.access import ACCESS_OPERATIONS, TOKEN_OPERATIONS
from stackroom.tools.admin.audit import AUDIT_OPERATIONS
from stackroom.tools.admin.jobs import JOB_OPERATIONS
from stackroom.tools.admin.roles import ROLE_OPERATIONS
from stackroom.tools.admin.users import USER_OPERATIONS

ADMIN_OPERATIONS = (
    *USER_OPERATIONS,
    *ROLE_OPERATIONS,
    *TOKEN_OPERATIONS,
    *ACCESS_OPERATIONS,
    *JOB_OPERATIONS,
    *AUDIT_OPERATIONS,
)
