package strictyaml

import (
	"fmt"
	"io"
	"os"
)

// maxSize is the largest text that is read: people write less, and a device never ends.
const maxSize = 4 << 20

// Text is what is in a file, - being standard input. Errors name the file.
func Text(path string) ([]byte, error) {
	f := os.Stdin
	if path != "-" {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, err
		}
		defer f.Close()
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(text) > maxSize {
		err = fmt.Errorf("%s: it is longer than %d MiB: is it the right file?", path, maxSize>>20)
	}
	return text, err
}
