export default {
  "job.panel": "Job {name}",
  "job.gone": "This job is not there",
  "job.goneBody": "It may have been removed since this address was made.",
} as const;
