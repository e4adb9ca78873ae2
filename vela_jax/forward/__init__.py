"""Given rows, gives readouts: buckets, batches, compiled executables."""
