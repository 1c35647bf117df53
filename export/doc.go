// Package export writes traces as tables, for SQL: one row an event, with typed
// columns (Columns), as Parquet files or as CSV. Package export/perfetto writes the
// form of the viewer of that name.
//
// Life cycle: NewParquet or NewCSV; Each file's traces, or NewTable of a trace, and Add,
// one trace after the other; Close, or Abort. A row is made when it is written: memory is
// that of the largest trace, its call tree, and one row group. Each keeps the arguments,
// which are half of a trace, compressed until their rows are made.
//
// # Parquet
//
// A file is rank=R/step=S/part.parquet, which DuckDB, Spark, Trino and ClickHouse read
// as columns rank and step (Hive's partitions). Ranks of a job that are exported into
// one folder, by one command or by many, are one table. What is of no rank, or in no
// step, is in a partition whose value these read as NULL. A second trace with rows in
// a partition has a file part-1.parquet beside the first one's.
//
// An export is made in a folder beside its own, and moved rank by rank.
//
// # Traps
//
//   - Numbers of events (event, parent, call, operator_event, forward) are those of
//     one trace: join on trace, too.
//   - Device time is that of kernels, copies and fills. Waits and annotations on a
//     device are rows of their own kinds: choose by kind before adding up durations.
//   - Arrows and metadata events are no rows; what they tell stands in columns.
package export
