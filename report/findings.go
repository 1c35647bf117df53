package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/validate"
)

// findings validates files. read is called each time one has been read.
func findings(paths []string, rules *chrome.Rules, read func()) (raw json.RawMessage, not []string, err error) {
	if slices.Contains(paths, "-") {
		return nil, []string{"standard input can be read only once: it was not validated"}, nil
	}
	if i := slices.IndexFunc(paths, once); i >= 0 {
		return nil, []string{paths[i] + " can be read only once, it is no file: nothing was validated"}, nil
	}
	var docs []validate.Document
	for _, path := range paths {
		err := validate.File(path, validate.Options{Rules: rules, Max: 5, Read: read}, func(name string, r *validate.Report, err error) error {
			if err != nil {
				not = append(not, fmt.Sprintf("%s: %v", name, err))
				return nil
			}
			for i := range r.Findings {
				f := &r.Findings[i]
				for _, text := range []*string{&f.Name, &f.Category, &f.PID, &f.TID} {
					*text = shorten(*text)
				}
			}
			docs = append(docs, validate.Document{File: name, Report: r})
			return nil
		})
		if err != nil {
			not = append(not, err.Error())
		}
	}
	var b bytes.Buffer
	if err := validate.WriteJSON(&b, docs); err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, b.Bytes()); err != nil {
		return nil, nil, err
	}
	return out.Bytes(), not, nil
}

// once reports whether what is at path can be read only once: a named pipe, for one.
func once(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}
