package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
)

//go:embed assets/page.html
var pageHTML string

//go:embed assets/page.css
var pageCSS string

//go:embed assets/page.js
var pageJS string

//go:embed assets/uplot.js
var uplotJS string

//go:embed assets/uplot.css
var uplotCSS string

//go:embed assets/LICENSE.uplot
var uplotLicense string

// WriteHTML writes the page. Errors are w's.
func (r *Report) WriteHTML(w io.Writer) error {
	// The encoder writes <, > and & as \u003c and so on, so that nothing in a name ends
	// the element that the data stands in.
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	parts := map[string]string{
		"title": html.EscapeString(r.Title), "css": uplotCSS + pageCSS, "data": string(data),
		"license": uplotLicense, "library": uplotJS, "script": pageJS,
	}
	rest := pageHTML
	for {
		before, after, found := strings.Cut(rest, "{{")
		if _, err := io.WriteString(w, before); err != nil || !found {
			return err
		}
		name, after, _ := strings.Cut(after, "}}")
		if _, err := io.WriteString(w, parts[name]); err != nil {
			return err
		}
		rest = after
	}
}
