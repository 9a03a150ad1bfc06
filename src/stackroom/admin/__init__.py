"""The operations of administration: users, roles, access, jobs, audit, analytics, logs, SQL, the
server itself.
"""
