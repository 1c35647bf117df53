// Package sqltest runs the queries of docs/sql.md with DuckDB over what flagos-trace
// export writes. It is a module of its own, so that DuckDB is no dependency of the tool:
//
//	cd export/sqltest && go test ./...
package sqltest
