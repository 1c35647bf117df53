package report

import (
	_ "embed"
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
	parts := map[string]string{
		"title": html.EscapeString(r.Title), "css": uplotCSS + pageCSS,
		"license": uplotLicense, "library": uplotJS, "script": pageJS,
	}
	rest := pageHTML
	for {
		before, after, found := strings.Cut(rest, "{{")
		if _, err := io.WriteString(w, before); err != nil || !found {
			return err
		}
		name, after, _ := strings.Cut(after, "}}")
		if name == "data" {
			if err := r.writeData(w); err != nil {
				return err
			}
		} else if _, err := io.WriteString(w, parts[name]); err != nil {
			return err
		}
		rest = after
	}
}
