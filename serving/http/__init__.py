"""Bodies and answers: reading limits, codings, multipart, strict JSON, errors."""
