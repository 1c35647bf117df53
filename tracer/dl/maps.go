package dl

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/flagos-ai/flagos-trace/internal/guest"
)

// Map is one file mapping of a process.
type Map struct {
	Start, End uint64
	Path       string
}

// MapList is the file mappings of a process, in order of address.
type MapList []Map

// held is the process map as all see it that ask while it is held.
var held struct {
	sync.Mutex
	holders int
	list    MapList
	read    bool
}

// HoldMaps has Maps return the same list until the function it returns is called, or
// a library is opened here: several tracers look for their libraries one after the
// other, and a map of a large program takes long to read. What the program itself
// maps meanwhile may be missed.
func HoldMaps() (release func()) {
	held.Lock()
	defer held.Unlock()
	held.holders++
	return func() {
		held.Lock()
		defer held.Unlock()
		if held.holders--; held.holders == 0 {
			held.list, held.read = nil, false
		}
	}
}

// forgetMaps: what is held is not true any more.
func forgetMaps() {
	held.Lock()
	held.list, held.read = nil, false
	held.Unlock()
}

// Maps reads the file mappings of this process. The list is not to be changed.
func Maps() (MapList, error) {
	held.Lock()
	defer held.Unlock()
	if held.read {
		return held.list, nil
	}
	b, err := guest.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	list := ParseMaps(b)
	if held.holders > 0 {
		held.list, held.read = list, true
	}
	return list, nil
}

// ParseMaps reads the format of /proc/<pid>/maps. Mappings without a file, and
// lines it does not understand, are left out; the mark of a deleted file is
// taken off its path.
func ParseMaps(b []byte) MapList {
	list := make(MapList, 0, bytes.Count(b, []byte{'/'})/2)
	var last []byte // the path of the mapping before: a library has several
	for len(b) > 0 {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
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
		m := Map{Start: start, End: end}
		if file := line[slash:]; len(list) > 0 && bytes.Equal(file, last) {
			m.Path = list[len(list)-1].Path
		} else {
			m.Path, last = strings.TrimSuffix(string(file), " (deleted)"), file
		}
		list = append(list, m)
	}
	return list
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
	for i, m := range l {
		if i > 0 && m.Path == l[i-1].Path {
			continue // a file's mappings mostly lie together
		}
		if strings.HasPrefix(m.Path[strings.LastIndexByte(m.Path, '/')+1:], prefix) && !slices.Contains(files, m.Path) {
			files = append(files, m.Path)
		}
	}
	return files
}
