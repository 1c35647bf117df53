// Package report makes one HTML page of traces: what a summary has in tables, a time
// line of the devices, a flame graph, charts of overlap, idle time, occupancy and
// memory, the ranks, what validation found, and what is known to be missing. The page
// needs nothing but a browser, no network, and no other file.
//
// Life cycle: Files reads traces and reduces each as soon as it was read; the Report is
// then plain data of a few megabytes at most, whatever the size of the traces.
// WriteHTML writes the page.
//
//	r, err := report.Files(paths, report.Options{})
//	r.WriteHTML(w)
//
// # What is exact, and what is sampled
//
// All sums are those of package summary, to the nanosecond. Charts over time divide the
// window into equal bins; what a bin holds is exact. Rows of the time line have every
// span of a small trace. Of a large one neighbours that are shorter than what can be
// told apart are drawn as one piece, which knows how many they are, for how long they
// ran, and the longest of them; longer ones stay what they are. A flame graph puts
// frames too small to be seen into one beside them, so that its sums stay right.
//
// # The page
//
// page.html, page.css and page.js in assets are written by hand; uplot.js draws charts
// over time (see assets/README.md). Data stands in the page as JSON in which <, > and &
// are escaped, and the script makes texts of it, never markup: names come from traces,
// which anybody may have written. A content security policy forbids everything else.
//
// # Traps
//
//   - Numbers of the data are ns, bytes and shares, as in the JSON of a summary. Times
//     of the time line and of charts count from the start of the window, so that they
//     are exact in a browser's numbers.
//   - Traces are on one clock only where their windows overlap; else each begins at 0.
package report
