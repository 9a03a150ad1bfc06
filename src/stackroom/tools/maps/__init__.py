"""Maps as callers see them: records that they may see, labels and colours by those records alone."""
