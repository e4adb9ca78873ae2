"""What examples are written from: tables of our own, slots, names, personal data, and a dictionary."""
