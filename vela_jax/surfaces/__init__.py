"""What the four surfaces ask and answer, whatever family of models serves them."""
