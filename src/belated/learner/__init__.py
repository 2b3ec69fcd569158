"""The paper, in numpy and scipy: no clock, no files, no database, no global random state."""
