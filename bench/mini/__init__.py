"""Our own small models: their texts and tasks, the teacher, training and evaluation. Nothing here runs in a server."""
