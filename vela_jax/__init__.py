"""The models and their numerics: text and media to rows, rows through a backbone, readouts to answers."""
