"""Small networks and readouts on hidden states."""
