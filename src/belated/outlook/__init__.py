"""What more queries are likely to bring: the answer of `study.outlook()`."""
