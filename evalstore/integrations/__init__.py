"""evalstore inside other programs: each module here needs the extra of its name, and nothing else imports it."""
