package dl

import (
	"bufio"
	"bytes"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/guest"
)

// Map is one file mapping of a process.
type Map struct {
	Start, End uint64
	Path       string
}

// MapList is the file mappings of a process, in order of address.
type MapList []Map

// Maps reads the file mappings of this process.
func Maps() (MapList, error) {
	b, err := guest.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	return ParseMaps(bytes.NewReader(b))
}

// ParseMaps reads the format of /proc/<pid>/maps. Mappings without a file, and
// lines it does not understand, are left out; the mark of a deleted file is
// taken off its path.
func ParseMaps(r io.Reader) (MapList, error) {
	var list MapList
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), 64<<10)
	for s.Scan() {
		line := s.Bytes()
		slash := bytes.IndexByte(line, '/')
		dash := bytes.IndexByte(line, '-')
		space := bytes.IndexByte(line, ' ')
		if slash < 0 || dash < 0 || space < dash || slash < space {
			continue
		}
		start, err1 := strconv.ParseUint(string(line[:dash]), 16, 64)
		end, err2 := strconv.ParseUint(string(line[dash+1:space]), 16, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		list = append(list, Map{start, end, strings.TrimSuffix(string(line[slash:]), " (deleted)")})
	}
	return list, s.Err()
}

// At returns the path of the file mapped at addr, "" if there is none.
func (l MapList) At(addr uint64) string {
	for _, m := range l {
		if addr >= m.Start && addr < m.End {
			return m.Path
		}
	}
	return ""
}

// Files returns the distinct mapped files whose base name begins with prefix, in
// order of address.
func (l MapList) Files(prefix string) []string {
	var files []string
	seen := map[string]bool{}
	for _, m := range l {
		if !seen[m.Path] && strings.HasPrefix(path.Base(m.Path), prefix) {
			seen[m.Path] = true
			files = append(files, m.Path)
		}
	}
	return files
}
