"""The commands of ``tidegate what-if``: what other settings, jobs or queues would come to."""
