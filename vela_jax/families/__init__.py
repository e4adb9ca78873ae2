"""One folder a model family: a request becomes rows, readouts become its answer."""
