"""Networks of the study of planners that the zoo itself does not have, and the list of its steps."""
