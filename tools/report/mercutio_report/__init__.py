"""The report on a traced job: `mercutio report` hands its JSON (docs/reference/report.schema.json) to this package."""
