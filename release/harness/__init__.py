"""What `release/build` and `release/test` are made of: one file for each kind of package."""
