"""One model's scheduler: jobs in, results out, one forward at a time on the model's own thread."""

from serving.scheduler.events import Events, Unobserved
from serving.scheduler.job import Job
from serving.scheduler.scheduler import STOPPING, Scheduler

__all__ = ["STOPPING", "Events", "Job", "Scheduler", "Unobserved"]
