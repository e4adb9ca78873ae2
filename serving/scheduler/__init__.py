"""One model's scheduler: jobs in, results out, one forward at a time on the model's own thread."""

from serving.scheduler.events import Events, Forward, Unobserved
from serving.scheduler.faults import STOPPING, failure_of
from serving.scheduler.job import Job
from serving.scheduler.scheduler import Scheduler

__all__ = ["STOPPING", "Events", "Forward", "Job", "Scheduler", "Unobserved", "failure_of"]
