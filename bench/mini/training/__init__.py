"""How a student is trained: rows, losses, batches, steps and checkpoints."""
