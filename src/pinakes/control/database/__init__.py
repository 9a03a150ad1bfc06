"""The control database: connection, tables, migrations, copies."""
