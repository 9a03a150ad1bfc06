"""The values everything else speaks in: records, filters, hits. Frozen, without I/O."""
