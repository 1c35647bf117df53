package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
)

// piecesKey is the key of pieces in JSON. In a string its quotes would be escaped.
const piecesKey = `"pieces":`

// noPieces is how a row without pieces stands in JSON.
var noPieces = []byte(piecesKey + "null")

// pieceText is how long the text of a piece is, about, bytes.
const pieceText = 30

// writeData writes the report as encoding/json would, and faster: nearly all of it is the
// integers of pieces, which are written on all processors, between what the encoder makes
// of a report without them. <, > and & are escaped, so that nothing in a name ends the
// element that the data stands in. Errors are w's.
func (r *Report) writeData(w io.Writer) error {
	bare, lists := r.withoutPieces()
	texts := make([]chan []byte, len(lists))
	for i := range texts {
		texts[i] = make(chan []byte, 1)
	}
	var next atomic.Int64
	for range min(len(lists), runtime.GOMAXPROCS(0)) {
		go func() {
			for i := next.Add(1) - 1; i < int64(len(lists)); i = next.Add(1) - 1 {
				text := hugepage.Make[byte](len(piecesKey) + pieceText*len(lists[i]))[:0]
				texts[i] <- lists[i].appendTo(append(text, piecesKey...))
			}
		}()
	}
	data, err := json.Marshal(bare)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	between := bytes.Split(data, noPieces)
	if len(between) != len(lists)+1 { // something else is called that
		if data, err = json.Marshal(r); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		_, err := w.Write(data)
		return err
	}
	for i, text := range between {
		if _, err := w.Write(text); err != nil {
			return err
		}
		if i == len(lists) {
			break
		}
		if _, err := w.Write(<-texts[i]); err != nil {
			return err
		}
	}
	return nil
}

// withoutPieces returns a copy of the report whose rows have no pieces, and these.
func (r *Report) withoutPieces() (*Report, []Pieces) {
	bare := *r
	var lists []Pieces
	bare.Sides = slices.Clone(r.Sides)
	for i, s := range bare.Sides {
		side := *s
		bare.Sides[i] = &side
		side.Traces = slices.Clone(s.Traces)
		for k, v := range side.Traces {
			view := *v
			side.Traces[k] = &view
			view.Rows = slices.Clone(v.Rows)
			for j := range view.Rows {
				lists = append(lists, view.Rows[j].Pieces)
				view.Rows[j].Pieces = nil
			}
		}
	}
	return &bare, lists
}
