"""The control database: connection, tables, batch writer, copies."""
