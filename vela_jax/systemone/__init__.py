"""What all decisions models share: typed questions, states, answers."""
