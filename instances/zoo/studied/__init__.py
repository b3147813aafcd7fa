"""Networks of the study of planners that the zoo lacks, and the list of its steps."""
