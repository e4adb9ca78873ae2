"""The five small encoders beside the decision model: texts, networks, training, figures and packages of each."""
