"""The report on a traced job: `mercutio report` hands its JSON (docs/report.schema.json) to this package."""
