"""Shape checks for the tests of this folder."""

import tests.shape_checks  # noqa: F401 - before any import of the checked modules
